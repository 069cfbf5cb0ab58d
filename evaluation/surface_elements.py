"""Marching-cubes surface elements and their areas: the surface of `deepmind` and `brats2023`.

An element lies between the eight voxels around a corner of the grid. A code has one bit a voxel, the
highest for the lowest place. The element's polygons join midpoints of edges that cross the surface; its
area is that of their triangles, in millimetres.

Source: Nikolov et al. 2021, supplement; the areas equal those of the surface-distance package, which a
test compares. Axes: D H W corners of the grid.
"""

from functools import lru_cache
from itertools import product

import numpy as np

__all__ = ["element_codes", "element_sizes"]

Point = tuple[float, ...]
_CORNERS: tuple[Point, ...] = tuple(product((0.0, 1.0), repeat=3))
_CYCLE = ((0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0))


def element_codes(filled: np.ndarray) -> np.ndarray:
    """The code at each corner of the grid.

    Args:
        filled: bool with a border of background along each axis that counts; the other axes have
            length one.

    Returns:
        uint8, one shorter along each axis that counts.
    """
    counted = [axis for axis in range(filled.ndim) if filled.shape[axis] > 1]
    shape = [n - (axis in counted) for axis, n in enumerate(filled.shape)]
    codes = np.zeros(shape, np.uint8)
    for number, corner in enumerate(reversed(list(product((0, 1), repeat=len(counted))))):
        part = [slice(None)] * filled.ndim
        for axis, place in zip(counted, corner, strict=True):
            part[axis] = slice(place, place + shape[axis])
        codes |= filled[tuple(part)].view(np.uint8) << number
    return codes


@lru_cache(maxsize=64)
def element_sizes(spacing_mm: tuple[float, ...]) -> np.ndarray:
    """Area (3D, mm^2), length (2D, mm) or 1 (1D) of the element of each code.

    Args:
        spacing_mm: one number an axis.
    """
    if len(spacing_mm) == 1:
        return np.array([0.0, 1.0, 1.0, 0.0])
    if len(spacing_mm) == 2:
        return _contour_lengths(*spacing_mm)
    scale = np.array(spacing_mm)
    return np.array([_area(code, scale) for code in range(256)])


def _contour_lengths(height_mm: float, width_mm: float) -> np.ndarray:
    slanted = float(np.hypot(height_mm, width_mm)) / 2
    lengths = np.full(16, slanted)  # one corner apart from the other three
    lengths[[0, 15]] = 0.0
    lengths[[3, 12]] = width_mm
    lengths[[5, 10]] = height_mm
    lengths[[6, 9]] = 2 * slanted
    return lengths


def _area(code: int, scale: np.ndarray) -> float:
    filled = {corner for n, corner in enumerate(_CORNERS) if code & (128 >> n)}
    if len(filled) > 4:  # a surface is the same from both sides
        filled = set(_CORNERS) - filled
    return sum(_fan_area(polygon, scale) for polygon in _polygons(filled))


def _polygons(filled: set[Point]) -> list[list[Point]]:
    """Closed chains of edge midpoints around the filled corners."""
    links: dict[Point, list[Point]] = {}
    for axis, side in product(range(3), (0.0, 1.0)):
        for one, other in _face_lines(filled, axis, side):
            links.setdefault(one, []).append(other)
            links.setdefault(other, []).append(one)
    polygons = []
    while links:
        chain = [next(iter(links))]
        while True:
            onward = [p for p in links.pop(chain[-1]) if p in links]
            if not onward:
                break
            chain.append(onward[0])
        polygons.append(chain)
    return polygons


def _face_lines(filled: set[Point], axis: int, side: float) -> list[tuple[Point, Point]]:
    """Where the surface crosses one face of the cube; two filled corners across stay apart."""
    corners = [(*cycle[:axis], side, *cycle[axis:]) for cycle in _CYCLE]
    inside = [corner in filled for corner in corners]
    middle = [
        tuple((a + b) / 2 for a, b in zip(corners[n], corners[(n + 1) % 4], strict=True))
        for n in range(4)
    ]
    crossed = [n for n in range(4) if inside[n] != inside[(n + 1) % 4]]
    if len(crossed) == 4:
        return [(middle[n - 1], middle[n]) for n in range(4) if inside[n]]
    return [(middle[crossed[0]], middle[crossed[1]])] if crossed else []


def _fan_area(polygon: list[Point], scale: np.ndarray) -> float:
    """Area of a polygon cut into triangles from one of its points.

    Five and six points need not lie in a plane, so the point matters. Of five, it is an outer one of
    the three whose edges are parallel; of six, one whose edge is parallel to neither neighbour's.
    """
    axes = [point.index(0.5) for point in polygon]
    alike = [
        (axes[n] == axes[n - 1]) + (axes[n] == axes[(n + 1) % len(axes)]) for n in range(len(axes))
    ]
    wanted = {5: 1, 6: 0}.get(len(polygon), alike[0])
    start = alike.index(wanted) if wanted in alike else 0
    points = np.array(polygon[start:] + polygon[:start]) * scale
    spans = points[1:] - points[0]
    return float(np.linalg.norm(np.cross(spans[:-1], spans[1:]), axis=1).sum() / 2)
