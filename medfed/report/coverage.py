"""Coverage: whether the teachers have anything to say about the public set.

Axes: N public cases, C classes.

A student learns what its teachers say about public images. Where they are undecided, or say the
same about every image, there is nothing to learn, and that shows before any label is needed.
"""

from typing import Literal

import numpy as np

from medfed.report.records import Coverage

__all__ = ["FLAT_SPREAD", "UNDECIDED_ENTROPY", "coverage_of"]

# Judgements, not theory: an entropy of 0.8 is an answer of about one in four for yes or no, and a
# spread of 0.02 means that two images differ by about two points in a hundred.
UNDECIDED_ENTROPY = 0.8
FLAT_SPREAD = 0.02
TINY = 1e-12


def coverage_of(logits: np.ndarray, kind: Literal["multi_label", "single_label"]) -> Coverage:
    """How decided the ensemble is on the public set, and how its answers differ between images.

    Args:
        logits: (N, C) of the ensemble, without classes that nobody annotates.
        kind: whether a case may have several classes.

    >>> coverage_of(np.array([[9.0, -9.0], [-9.0, 9.0]]), "single_label").warnings
    ()
    >>> len(coverage_of(np.zeros((5, 3)), "single_label").warnings)
    2
    """
    values = np.asarray(logits, np.float64)
    if kind == "multi_label":
        p = 1.0 / (1.0 + np.exp(-np.clip(values, -50.0, 50.0)))
        bits = p * np.log2(p + TINY) + (1 - p) * np.log2(1 - p + TINY)
        entropy = -bits.mean(axis=1)
    else:
        shifted = np.exp(values - values.max(axis=1, keepdims=True))
        p = shifted / shifted.sum(axis=1, keepdims=True)
        entropy = -(p * np.log(p + TINY)).sum(axis=1) / np.log(max(2, values.shape[1]))
    entropy = np.clip(entropy, 0.0, 1.0)
    mean, spread = float(entropy.mean()), float(p.std(axis=0).mean())
    histogram = np.histogram(entropy, bins=10, range=(0.0, 1.0))[0]
    return Coverage(
        len(values), mean, spread, tuple(int(n) for n in histogram), _warnings(mean, spread)
    )


def _warnings(entropy: float, spread: float) -> tuple[str, ...]:
    found = []
    if entropy > UNDECIDED_ENTROPY:
        found.append(
            f"The teachers are undecided about the public images (mean entropy {entropy:.2f}, "
            "where 1 is a coin toss). Public images closer to the sites' own would teach more."
        )
    if spread < FLAT_SPREAD:
        found.append(
            "The teachers say nearly the same about every public image (their answers differ by "
            f"{spread:.3f} on average). A student cannot learn to tell images apart from that."
        )
    return tuple(found)
