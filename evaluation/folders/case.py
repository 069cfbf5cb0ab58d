"""One case: two files in, rows of scores out, or a row that says why not."""

from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np

from medfed.errors import BadFile, MedfedError
from medfed.evaluation.folders.geometry import OnOneGrid, on_one_grid
from medfed.evaluation.folders.pairing import Pair
from medfed.evaluation.folders.settings import Settings
from medfed.evaluation.mask_files import Mask, ReadOptions, mask_suffix, read_mask

__all__ = ["CaseResult", "Status", "opened", "scored_case", "unscored"]

Status = Literal["scored", "failed", "missing_prediction", "ambiguous", "crashed"]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of one case.

    Attributes:
        case: its name.
        patient: whom it belongs to.
        status: scored, or why not.
        message: the reason, empty where scored.
        regions: scores by region, then by column.
        warnings: what was changed or could not be compared.
        shape: of the image, empty where unknown.
        spacing_mm: empty where unknown; distances are then in pixels.
        diagonal: length of the image's diagonal, in millimetres or pixels; nan where unknown.
        seconds: it took.
    """

    case: str
    patient: str
    status: Status
    message: str = ""
    regions: dict[str, dict[str, Any]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    spacing_mm: tuple[float, ...] = ()
    diagonal: float = float("nan")
    seconds: float = 0.0


def unscored(pair: Pair, status: Status, message: str, **known: Any) -> CaseResult:  # noqa: ANN401
    """The row of a case without scores."""
    return CaseResult(pair.case, pair.patient, status, message, **known)


def scored_case(pair: Pair, settings: Settings) -> CaseResult:
    """Score one pair; an error becomes a row.

    Args:
        pair: two paths; the prediction may be missing.
        settings: how to score.
    """
    start = perf_counter()
    if pair.pred is None:
        return _missing(pair, settings)
    try:
        grid = opened(pair, settings)
        regions = _regions(grid, settings)
    except MedfedError as error:
        return unscored(pair, "failed", error.local, seconds=perf_counter() - start)
    except Exception as error:
        # A case that trips over what nobody foresaw is one row; the others are scored.
        text = f"{type(error).__name__}: {error}"
        return unscored(pair, "failed", text, seconds=perf_counter() - start)
    return CaseResult(
        pair.case, pair.patient, "scored", regions=regions, warnings=grid.warnings,
        shape=grid.ref.shape, spacing_mm=grid.spacing_mm or (), diagonal=_diagonal(grid),
        seconds=perf_counter() - start,
    )  # fmt: skip


def opened(pair: Pair, settings: Settings) -> OnOneGrid:
    """Both masks of a case on one grid, notes of the files among the warnings.

    Raises:
        BadFile: a file cannot be read, or the grids differ.
    """
    assert pair.pred is not None  # noqa: S101 - cases without a prediction are not opened
    options = ReadOptions(settings.key, settings.segment, settings.threshold)
    plain = ReadOptions(settings.key, settings.segment)
    if _polygons(pair.ref):
        pred = read_mask(pair.pred, options, size=_size(pair))
        ref = read_mask(pair.ref, plain, size=_size(pair) or _flat(pred))
    else:
        ref = read_mask(pair.ref, plain)
        pred = read_mask(pair.pred, options, size=_size(pair) or _flat(ref))
    notes = [f"prediction: {note}" for note in pred.notes]
    notes += [f"reference: {note}" for note in ref.notes]
    grid = on_one_grid(
        pred, ref, resample=settings.resample == "nearest", spacing_mm=settings.spacing_mm
    )
    return OnOneGrid(grid.pred, grid.ref, grid.spacing_mm, (*notes, *grid.warnings))


def _missing(pair: Pair, settings: Settings) -> CaseResult:
    """A reference without prediction still gives the diagonal that its penalty needs."""
    message = "no prediction"
    try:
        ref = read_mask(pair.ref, ReadOptions(settings.key, settings.segment), size=_size(pair))
    except MedfedError as error:
        return unscored(pair, "missing_prediction", f"{message}; {error.local}")
    spacing = ref.spacing_mm or settings.spacing_mm or (1.0,) * ref.array.ndim
    return unscored(
        pair, "missing_prediction", message, shape=ref.array.shape,
        diagonal=float(np.linalg.norm(np.multiply(ref.array.shape, spacing))),
    )  # fmt: skip


def _polygons(path: Path) -> bool:
    return mask_suffix(path.name) == ".xml"


def _size(pair: Pair) -> tuple[int, int] | None:
    if pair.image is None:
        return None
    from PIL import Image

    try:
        with Image.open(pair.image) as picture:
            return picture.height, picture.width
    except OSError:
        return None


def _flat(mask: Mask) -> tuple[int, int] | None:
    shape = mask.array.shape
    return (shape[0], shape[1]) if len(shape) == 2 else None


def _diagonal(grid: OnOneGrid) -> float:
    edges = grid.spacing_mm or (1.0,) * grid.ref.ndim
    return float(np.linalg.norm(np.multiply(grid.ref.shape, edges)))


def _regions(grid: OnOneGrid, settings: Settings) -> dict[str, dict[str, Any]]:
    from medfed.evaluation.folders.scoring import score_binary, score_instances, score_labels

    if settings.kind == "instances":
        return {"objects": score_instances(grid, settings)}
    if settings.kind == "binary":
        return {"foreground": score_binary(grid, settings)}
    _refuse_two_codes(grid)
    return score_labels(grid, settings)


def _refuse_two_codes(grid: OnOneGrid) -> None:
    """One side written as 0 and 1, the other as 0 and 255, is one mask in two codes."""
    highest = {int(a.max()) if a.size else 0 for a in (grid.pred, grid.ref)}
    if highest in ({1, 255}, {1, 65535}):
        raise BadFile(
            f"one side marks foreground with 1, the other with {max(highest)}: as labels they never "
            "meet. Use --kind binary."
        )
