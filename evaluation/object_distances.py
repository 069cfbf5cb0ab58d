"""Hausdorff distances between single objects of two instance maps.

The farthest point of one object from the other is looked for with an early end: a point that is known
to be nearer than the farthest so far needs no exact distance. Objects without a partner are compared
with all others, in rising order of a bound from their boxes, until the bound exceeds the best.

Axes: N points of an object, A image axes (padded to three).
"""

from dataclasses import dataclass

import numpy as np

from medfed.evaluation.backend import compiled

__all__ = ["Objects", "hausdorff_mm", "nearest_mm", "objects_of"]


@dataclass(frozen=True, slots=True)
class Objects:
    """Points of every object of a map, by rising id.

    Attributes:
        places: (sum N,) place of each point in the flat map, object after object, each rising.
        starts: (objects + 1,) first point of each object.
        edges: (sum E, 3) millimetres: the points that have a face neighbour outside their object.
        edge_starts: (objects + 1,) first edge point of each object.
        lows: (objects, 3) lower corner of the box of each object.
        highs: (objects, 3) upper corner.
        shape: (3,) of the map, padded with leading ones.
        spacing_mm: (3,) of the map, padded with leading ones.
    """

    places: np.ndarray
    starts: np.ndarray
    edges: np.ndarray
    edge_starts: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    shape: np.ndarray
    spacing_mm: np.ndarray


def objects_of(
    labels: np.ndarray, ids: np.ndarray, spacing_mm: tuple[float, ...], *, surface: bool = False
) -> Objects:
    """Points of the objects of an instance map.

    Args:
        labels: unsigned ids, up to three axes.
        ids: (objects,) every id of the map, rising.
        spacing_mm: one number an axis.
        surface: whether the edge points alone are the object.
    """
    solid = labels.reshape((1,) * (3 - labels.ndim) + labels.shape)
    if compiled():
        from medfed.evaluation.kernels_objects import grouped
    else:
        from medfed.evaluation.objects_numpy import grouped  # type: ignore[assignment]
    places, starts, on_edge = grouped(np.ascontiguousarray(solid), ids, labels.ndim)
    spacing = np.array((1.0,) * (3 - labels.ndim) + spacing_mm)
    edge_places, edge_starts = places[on_edge], np.append(0, np.cumsum(on_edge))[starts]
    edges = np.stack(np.unravel_index(edge_places, solid.shape), axis=1) * spacing
    if surface:
        places, starts = edge_places, edge_starts
    lows = np.minimum.reduceat(edges, edge_starts[:-1]) if ids.size else np.empty((0, 3))
    highs = np.maximum.reduceat(edges, edge_starts[:-1]) if ids.size else np.empty((0, 3))
    shape = np.array(solid.shape)
    return Objects(places, starts, edges, edge_starts, lows, highs, shape, spacing)


def hausdorff_mm(
    one: Objects, numbers: np.ndarray, other: Objects, other_numbers: np.ndarray
) -> np.ndarray:
    """(M,) Hausdorff distance of each pair of objects, in millimetres.

    Args:
        one: objects of one map.
        numbers: (M,) which of them.
        other: objects of the other map.
        other_numbers: (M,) which of them.
    """
    if compiled():
        from medfed.evaluation.kernels_objects import pair_squares
    else:
        from medfed.evaluation.objects_numpy import pair_squares  # type: ignore[assignment]
    first = (one.places, one.starts, one.edges, one.edge_starts)
    second = (other.places, other.starts, other.edges, other.edge_starts)
    squares = pair_squares(first, second, numbers, other_numbers, one.shape, one.spacing_mm)
    return np.asarray(np.sqrt(squares))


def nearest_mm(one: Objects, number: int, other: Objects) -> float:
    """The smallest Hausdorff distance of an object to any of the other map; inf without any."""
    # The ends of two boxes along an axis are no farther apart than the objects.
    apart = np.maximum(
        np.abs(other.lows - one.lows[number]), np.abs(other.highs - one.highs[number])
    )
    bounds = apart.max(axis=1)
    best = float("inf")
    for candidate in np.argsort(bounds, kind="stable"):
        if bounds[candidate] >= best:
            break
        pair = np.array([number]), np.array([candidate])
        best = min(best, float(hausdorff_mm(one, pair[0], other, pair[1])[0]))
    return best
