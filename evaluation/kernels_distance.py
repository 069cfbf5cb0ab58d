"""Compiled distances between two marked surfaces, exact, in two steps.

`near` looks, for each point, at the rows around it in rising distance until no nearer point can
follow. It gives up beyond a fixed number of rows, so its cost is bounded by the points. `far` takes
those points that are left: slice by slice, an exact distance map of the other surface is made over
the box of the waiting points alone. Its cost is bounded by the box and the points, whatever the shape,
and it never holds more than one slice.

Axes: D H W voxels of a field padded by one, S surface points in scan order, R rows around a point.
"""

import numpy as np
from numba import njit

__all__ = ["far", "near", "row_distances"]

NONE = 255  # steps along a row: no surface point within 254


@njit(cache=True)
def row_distances(field: np.ndarray, bit: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps to the nearest surface point in the same row, at most 254; 255 where there is none.

    Args:
        field: (D, H, W) uint8.
        bit: of the surface.

    Returns:
        (D, H, W) uint8 steps, and (D, H) uint8: every bit that is set in a row.
    """
    depth, height, width = field.shape
    steps = np.empty((depth, height, width), np.uint8)
    bits = np.zeros((depth, height), np.uint8)
    mark = np.uint8(bit)
    for d in range(depth):
        for h in range(height):
            row, out = field[d, h], steps[d, h]
            filled = np.uint8(0)
            for w in range(width):
                filled |= row[w]
            bits[d, h] = filled
            if filled & mark == 0:
                out[:] = np.uint8(NONE)
                continue
            since = NONE
            for w in range(width):
                since = 0 if row[w] & mark else min(since + 1, NONE)
                out[w] = since
            since = NONE
            for w in range(width - 1, -1, -1):
                since = 0 if row[w] & mark else min(since + 1, NONE)
                if since < out[w]:
                    out[w] = since
    return steps, bits


@njit(cache=True)
def near(
    field: np.ndarray,
    bits: np.ndarray,
    own: int,
    other: int,
    steps: np.ndarray,
    rows: np.ndarray,
    row_mm2: np.ndarray,
    beyond_mm2: float,
    width_mm: float,
    squares: np.ndarray,
) -> np.ndarray:
    """Squared distances of surface points to the other surface.

    A point it gave up holds a negative number instead: -1 less its place in the flat field.

    Args:
        field: (D, H, W) uint8 with bits `own` and `other`.
        bits: (D, H) of row_distances.
        own: bit of the points.
        other: bit of the other surface.
        steps: (D, H, W) from row_distances of the other surface.
        rows: (R, 2) offsets of rows along D and H, nearest first.
        row_mm2: (R,) squared distance of each row.
        beyond_mm2: squared distance of the nearest row that is not in the list.
        width_mm: spacing along a row.
        squares: (S,) float64, filled and returned.
    """
    depth, height, width = field.shape
    own_bit, both_bits = np.uint8(own), np.uint8(own | other)
    in_row = np.empty(NONE + 1)
    for s in range(NONE):
        in_row[s] = (s * width_mm) ** 2
    in_row[NONE] = np.inf
    proven = min(beyond_mm2, (NONE * width_mm) ** 2)
    flat = steps.ravel()
    shift = rows[:, 0] * (height * width) + rows[:, 1] * width
    count = 0
    for d in range(depth):
        for h in range(height):
            if not bits[d, h] & own_bit:
                continue
            row = field[d, h]
            gave_up = False
            for w in range(width):
                if not row[w] & own_bit:
                    continue
                if row[w] & both_bits == both_bits:
                    squares[count] = 0.0
                    count += 1
                    gave_up = False
                    continue
                here = (d * height + h) * width + w
                best = in_row[flat[here]]
                # The points after a far one are mostly far too: they wait without a search.
                if not gave_up or best <= proven:
                    for r in range(1, len(row_mm2)):
                        if row_mm2[r] >= best:
                            break
                        if 0 <= d + rows[r, 0] < depth and 0 <= h + rows[r, 1] < height:
                            best = min(best, row_mm2[r] + in_row[flat[here + shift[r]]])
                gave_up = best > proven
                squares[count] = -1.0 - here if gave_up else best
                count += 1
    return squares


@njit(cache=True)
def far(
    field: np.ndarray, bits: np.ndarray, other: int, spacing: np.ndarray, squares: np.ndarray
) -> np.ndarray:
    """Fills in what `near` left negative.

    Args:
        field: (D, H, W) uint8.
        bits: (D, H) of row_distances.
        other: bit of the other surface; it has at least one point.
        spacing: (3,) millimetres.
        squares: (S,) of near, changed in place and returned.
    """
    depth, height, width = field.shape
    waiting = _waiting(squares, height, width)
    lows, highs = _box(waiting)
    best = np.full(len(waiting), np.inf)
    rows_mm2 = np.empty((height, highs[2] - lows[2] + 1))
    slice_mm2 = np.empty((highs[1] - lows[1] + 1, highs[2] - lows[2] + 1))
    for d in range(depth):
        places = np.flatnonzero(bits[d] & np.uint8(other))
        if not places.size or not _needed(waiting, best, d, spacing[0]):
            continue
        _slice_rows(field[d], places, other, lows[2], spacing[2], rows_mm2)
        _slice_map(rows_mm2, places, lows[1], spacing[1], slice_mm2)
        for s in range(len(waiting)):
            away = (waiting[s, 0] - d) * spacing[0]
            if away * away < best[s]:
                within = slice_mm2[waiting[s, 1] - lows[1], waiting[s, 2] - lows[2]]
                best[s] = min(best[s], away * away + within)
    for s in range(len(waiting)):
        squares[waiting[s, 3]] = best[s]
    return squares


@njit(cache=True)
def _waiting(squares: np.ndarray, height: int, width: int) -> np.ndarray:
    """Place (D, H, W) and number of each point that waits: (S, 4) int64."""
    waiting = np.empty((np.count_nonzero(squares < 0), 4), np.int64)
    count = 0
    for point in range(len(squares)):
        if squares[point] < 0:
            place = np.int64(-squares[point]) - 1
            row = place // width
            waiting[count] = (row // height, row % height, place % width, point)
            count += 1
    return waiting


@njit(cache=True)
def _box(waiting: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    lows, highs = waiting[0, :3].copy(), waiting[0, :3].copy()
    for s in range(len(waiting)):
        for axis in range(3):
            lows[axis] = min(lows[axis], waiting[s, axis])
            highs[axis] = max(highs[axis], waiting[s, axis])
    return lows, highs


@njit(cache=True)
def _needed(waiting: np.ndarray, best: np.ndarray, d: int, depth_mm: float) -> bool:
    for s in range(len(waiting)):  # noqa: SIM110 - numba compiles a loop, not a generator
        if ((waiting[s, 0] - d) * depth_mm) ** 2 < best[s]:
            return True
    return False


@njit(cache=True)
def _slice_rows(
    layer: np.ndarray,
    places: np.ndarray,
    other: int,
    first: int,
    width_mm: float,
    rows_mm2: np.ndarray,
) -> None:
    """Squared distance along each row in `places`, over the waiting points' columns."""
    for h in places:
        last = -1
        row, out = layer[h], rows_mm2[h]
        for w in range(len(row)):
            if not row[w] & np.uint8(other):
                continue
            start = 0 if last < 0 else (last + w) // 2 + 1
            if last >= 0:
                _row_part(out, last + 1 - first, start - 1 - first, last - first, width_mm)
            _row_part(out, start - first, w - first, w - first, width_mm)
            last = w
        _row_part(out, last - first, len(out) - 1, last - first, width_mm)


@njit(cache=True)
def _row_part(row: np.ndarray, start: int, stop: int, place: int, width_mm: float) -> None:
    """Squared distances to `place` from start to stop, both included, where they lie in the row."""
    for w in range(max(start, 0), min(stop, len(row) - 1) + 1):
        row[w] = ((w - place) * width_mm) ** 2


@njit(cache=True)
def _slice_map(
    rows_mm2: np.ndarray, places: np.ndarray, first: int, height_mm: float, slice_mm2: np.ndarray
) -> None:
    """Squared distances in a slice, from those along its rows: a lower envelope of parabolas.

    Source: Felzenszwalb and Huttenlocher 2012, section 2.1.
    """
    hulls = np.empty(len(places), np.int64)
    borders = np.empty(len(places) + 1)
    unit = height_mm * height_mm
    for w in range(slice_mm2.shape[1]):
        top = 0
        hulls[0], borders[0], borders[1] = places[0], -np.inf, np.inf
        for number in range(1, len(places)):
            h = places[number]
            meet = _meeting(rows_mm2[:, w], hulls[top], h, unit)
            while meet <= borders[top]:
                top -= 1
                meet = _meeting(rows_mm2[:, w], hulls[top], h, unit)
            top += 1
            hulls[top], borders[top] = h, meet
            borders[top + 1] = np.inf
        top = 0
        for h in range(slice_mm2.shape[0]):
            while borders[top + 1] < h + first:
                top += 1
            slice_mm2[h, w] = ((h + first - hulls[top]) ** 2) * unit + rows_mm2[hulls[top], w]


@njit(cache=True, inline="always")
def _meeting(column: np.ndarray, g: int, h: int, unit: float) -> float:
    """Where the parabolas of rows g and h cross, in rows."""
    return float(((column[h] - column[g]) / unit + h * h - g * g) / (2.0 * (h - g)))
