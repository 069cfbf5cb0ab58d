"""Seeded masks and instance maps for the measurements."""

import numpy as np

BRAIN = (240, 240, 155)
Pair = tuple[np.ndarray, np.ndarray]


def ball(centre: tuple[float, ...], radius: float, shape: tuple[int, ...] = BRAIN) -> np.ndarray:
    """A bool ball."""
    grid = np.ogrid[tuple(slice(0, n) for n in shape)]
    return sum((g - c) ** 2 for g, c in zip(grid, centre, strict=True)) <= radius**2


def tumours(seed: int) -> dict[str, tuple[np.ndarray, np.ndarray, tuple[float, float, float]]]:
    """Prediction, reference and spacing by name."""
    from scipy.ndimage import gaussian_filter

    even, tall = (1.0, 1.0, 1.0), (1.0, 1.0, 3.0)
    small = ball((100, 100, 70), 9), ball((101, 102, 70), 9)
    large = ball((100, 100, 70), 29), ball((102, 101, 71), 28)
    far = large[0] | ball((190, 190, 30), 3), large[1]
    apart = ball((60, 60, 50), 29), ball((170, 180, 100), 28)
    rng = np.random.default_rng(seed)
    inside = ball((120, 120, 77), 70)
    ragged = tuple(
        (gaussian_filter(rng.standard_normal(BRAIN), 1.0) > 0) & inside for _ in range(2)
    )
    return {
        "small (3k voxels)": (*small, even),
        "large (100k voxels)": (*large, even),
        "large, spacing 1 1 3": (*large, tall),
        "far false positive": (*far, even),
        "disjoint": (*apart, even),
        "ragged (700k voxels)": (*ragged, even),
    }


def slices(count: int, seed: int) -> list[Pair]:
    """Image pairs of 256 x 256 with one lesion each."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        centre, radius = rng.uniform(60, 196, 2), rng.uniform(5, 40)
        moved = centre + rng.normal(0, 3, 2)
        grown = radius * rng.uniform(0.8, 1.2)
        pairs.append(
            (ball(tuple(moved), grown, (256, 256)), ball(tuple(centre), radius, (256, 256)))
        )
    return pairs


def nuclei(count: int, size: int, seed: int) -> Pair:
    """Two instance maps with shuffled ids; about one nucleus in twenty is missed or invented."""
    rng = np.random.default_rng(seed)
    side = int(np.sqrt(count)) + 1
    pred, ref = np.zeros((size, size), np.int32), np.zeros((size, size), np.int32)
    ids = rng.permutation(count) + 1, rng.permutation(count) + 1
    for n in range(count):
        centre = (np.array([n // side, n % side]) + 0.5) * size / side + rng.normal(0, 3, 2)
        radius = rng.uniform(8, 14)
        for labels, own, at, r in (
            (ref, ids[0], centre, radius),
            (pred, ids[1], centre + rng.normal(0, 2, 2), radius * rng.uniform(0.85, 1.15)),
        ):
            if rng.random() < 0.05:
                continue
            low = np.maximum((at - r - 1).astype(int), 0)
            window = labels[low[0] : low[0] + int(2 * r) + 4, low[1] : low[1] + int(2 * r) + 4]
            y, x = np.ogrid[: window.shape[0], : window.shape[1]]
            shape = (y + low[0] - at[0]) ** 2 + 1.3 * (x + low[1] - at[1]) ** 2 <= r * r
            window[shape & (window == 0)] = own[n]
    return pred, ref
