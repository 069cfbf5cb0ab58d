"""The worst cases as pictures: contours of prediction and reference, on the image where there is one.

Axes: X Y Z voxels or H W pixels of masks; R C rows and columns of the picture that is drawn.
"""

from base64 import b64encode
from dataclasses import dataclass
from html import escape
from io import BytesIO
from pathlib import Path

import numpy as np

from medfed.errors import MedfedError
from medfed.evaluation.folders.case import CaseResult, opened
from medfed.evaluation.folders.evaluate import FolderResult
from medfed.evaluation.folders.geometry import OnOneGrid
from medfed.evaluation.folders.metrics import metrics_of
from medfed.evaluation.folders.scoring import as_objects
from medfed.evaluation.folders.settings import Settings
from medfed.evaluation.folders.summary import region_names, values_of
from medfed.evaluation.pages.drawing import PRED, REF

__all__ = ["Overlay", "overlays", "worst_cases"]

MARGIN = 0.15  # of the box around both masks
SMALLEST = 48  # pixels shown at least, so that a small object keeps its surroundings
BLOCKY = 160  # fewer pixels than this are drawn as squares, not smoothed
SHARPEST = 700  # pixels shown at most; a larger picture is thinned out


@dataclass(frozen=True, slots=True)
class Overlay:
    """One picture.

    Attributes:
        case: its name.
        region: whose contours are drawn.
        score: of that region.
        picture: SVG.
        note: which slice, and what is missing.
    """

    case: str
    region: str
    score: float
    picture: str
    note: str


def worst_cases(result: FolderResult, count: int) -> list[tuple[CaseResult, str, float]]:
    """Scored cases with the lowest main score of any region: the case, that region and the score."""
    metric = metrics_of(result.settings.kind)[0]
    lowest: dict[str, tuple[float, str]] = {}
    for region in region_names(result.results, result.settings):
        values = values_of(result.results, region, metric)
        for case, value in zip(result.results, values.tolist(), strict=True):
            if value == value and value < lowest.get(case.case, (np.inf, ""))[0]:
                lowest[case.case] = (value, region)
    by_name = {case.case: case for case in result.results}
    ranked = sorted((value, case, region) for case, (value, region) in lowest.items())
    return [(by_name[case], region, value) for value, case, region in ranked[:count]]


def overlays(result: FolderResult, *, count: int) -> list[Overlay]:
    """Pictures of the worst cases. A case whose files have gone since is left out.

    Args:
        result: the evaluation.
        count: how many.
    """
    pairs = {pair.case: pair for pair in result.pairing.pairs}
    drawn = []
    for case, region, score in worst_cases(result, count):
        pair = pairs[case.case]
        try:
            grid = opened(pair, result.settings)
        except MedfedError:
            continue
        picture, note = _drawn(grid, pair.image, case.case, region, result.settings)
        drawn.append(Overlay(case.case, region, score, picture, note))
    return drawn


def _drawn(
    grid: OnOneGrid, image: Path | None, case: str, region: str, settings: Settings
) -> tuple[str, str]:
    pred = _shown(grid.pred, "pred", region, settings)
    ref = _shown(grid.ref, "ref", region, settings)
    background, notes = _background(image, grid.ref.shape)
    flat = pred.ndim == 2
    if not flat:
        axis, place = _slice(pred, ref, grid.spacing_mm)
        notes.append(f"slice {place + 1} of {pred.shape[axis]} along axis {axis + 1}")
        pred, ref = (_upright(np.take(a, place, axis)) for a in (pred, ref))
        background = None if background is None else _upright(np.take(background, place, axis))
    box = _box((pred != 0) | (ref != 0))
    pred, ref = pred[box], ref[box]
    behind = _silhouettes(pred, ref) if background is None else background[box]
    return _picture(pred, ref, behind, f"{case}, {region}"), "; ".join(notes)


def _silhouettes(pred: np.ndarray, ref: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(ref != 0, 0.82, np.where(pred != 0, 0.92, 1.0)))


def _shown(array: np.ndarray, side: str, region: str, settings: Settings) -> np.ndarray:
    if settings.kind == "instances":
        return as_objects(array, settings.components in (side, "both"), settings.foreground)
    if settings.kind == "binary":
        return np.asarray(array != 0)
    return np.isin(array, settings.region_map().get(region) or (int(region),))


def _background(image: Path | None, shape: tuple[int, ...]) -> tuple[np.ndarray | None, list[str]]:
    """The image between 0 and 1, where it can be read and has the masks' shape."""
    if image is None:
        return None, []
    from medfed.evaluation.pages.image_files import read_image

    try:
        values = read_image(image)
    except MedfedError as error:
        return None, [error.local]
    if values.shape[: len(shape)] != shape:
        return None, [f"the image's shape {values.shape} is not the masks'"]
    return values, []


def _slice(pred: np.ndarray, ref: np.ndarray, spacing: tuple[float, ...] | None) -> tuple[int, int]:
    """The axis of the thickest slices (the last of equals), and the slice that differs most."""
    edges = spacing or (1.0,) * 3
    axis = max(range(3), key=lambda a: (edges[a], a))
    others = tuple(a for a in range(3) if a != axis)
    wrong = ((pred != 0) != (ref != 0)).sum(axis=others)
    if not wrong.any():
        wrong = (ref != 0).sum(axis=others)
    return axis, int(np.argmax(wrong))


def _upright(plane: np.ndarray) -> np.ndarray:
    """Rows from the top: the second axis of a scanner's slice runs upwards."""
    return np.flipud(plane.T)


def _box(inside: np.ndarray) -> tuple[slice, slice]:
    box = []
    for axis in (0, 1):
        places = np.flatnonzero(inside.any(axis=1 - axis))
        size = inside.shape[axis]
        start, stop = (int(places[0]), int(places[-1]) + 1) if places.size else (0, size)
        margin = max(int(MARGIN * (stop - start)), (SMALLEST - (stop - start)) // 2, 2)
        box.append(slice(max(start - margin, 0), min(stop + margin, size)))
    return box[0], box[1]


def _picture(pred: np.ndarray, ref: np.ndarray, background: np.ndarray, label: str) -> str:
    """SVG: the image as JPEG, the borders of both masks as lines between pixels."""
    step = max(1, -(-max(pred.shape) // SHARPEST))
    pred, ref, background = pred[::step, ::step], ref[::step, ::step], background[::step, ::step]
    high, wide = pred.shape
    stroke = max(high, wide) / 330  # a page shows a picture about 330 points wide
    smooth = "auto" if max(high, wide) > BLOCKY else "pixelated"
    lines = "".join(
        f'<path d="{_borders(mask)}" fill="none" stroke="{colour}" stroke-width="{stroke * width:.3g}" '
        'stroke-linecap="square"/>'
        for mask, colour, width in ((ref, REF, 2.4), (pred, PRED, 1.3))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {wide} {high}"><image width="{wide}" height="{high}" '
        f'style="image-rendering:{smooth}" href="data:image/jpeg;base64,{_jpeg(background)}"/>{lines}</svg>'
    )


def _jpeg(background: np.ndarray) -> str:
    from PIL import Image

    stored = BytesIO()
    Image.fromarray(np.rint(background * 255).astype(np.uint8)).save(stored, "JPEG", quality=88)
    return b64encode(stored.getvalue()).decode("ascii")


def _borders(mask: np.ndarray) -> str:
    """SVG path of every edge between two pixels of different objects, straight runs joined."""
    padded = np.pad(mask, 1)
    parts = []
    for turned, move in ((padded, "M{1} {0}h{2}"), (padded.T, "M{0} {1}v{2}")):
        edge = np.pad((turned[1:] != turned[:-1])[:, 1:-1], ((0, 0), (1, 1)))
        ends = np.diff(edge.astype(np.int8), axis=1)
        lines, starts = np.nonzero(ends == 1)
        stops = np.nonzero(ends == -1)[1]
        runs = zip(lines.tolist(), starts.tolist(), (stops - starts).tolist(), strict=True)
        parts += [move.format(*run) for run in runs]
    return "".join(parts)
