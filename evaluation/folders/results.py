"""What an evaluation writes: cases.csv, cases.json, summary.csv and summary.json; and how it is read.

In CSV as in JSON an undefined score is `nan` and an infinite distance `inf`; an empty cell was not
computed.
"""

import csv
import io
import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from medfed.errors import ConfigError, RunFolderError
from medfed.evaluation.case_scores import DEFINITIONS
from medfed.evaluation.folders.case import CaseResult
from medfed.evaluation.folders.ledger import result_of
from medfed.evaluation.folders.pairing import Pair, Pairing
from medfed.evaluation.folders.settings import Settings
from medfed.evaluation.folders.strict_json import dumped, plain
from medfed.evaluation.folders.summary import Line, region_names
from medfed.evaluation.instance_scores import INSTANCE_DEFINITIONS
from medfed.evaluation.presets import PRESETS
from medfed.files import write_atomically

__all__ = ["StoredResults", "definitions", "read_results", "versions", "write_results"]

FORMAT = 1  # of the JSON files; raised when a reader of the old form would misread the new one
PACKAGES = ("numpy", "scipy", "numba", "nibabel", "pillow", "SimpleITK", "pydicom")
LEADING = (
    "case", "patient", "status", "region", "outcome", "shape", "spacing_mm", "warnings", "message",
    "prediction", "reference",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StoredResults:
    """An evaluation read back.

    Attributes:
        folder: where from.
        results: its cases.
        settings: as JSON values.
    """

    folder: Path
    results: tuple[CaseResult, ...]
    settings: dict[str, Any]


def definitions(settings: Settings) -> dict[str, str]:
    """What each column is, for this evaluation's settings."""
    if settings.kind == "instances":
        found = dict(INSTANCE_DEFINITIONS)
        found |= {
            "object_hausdorff": "GlaS: both sides, weighted by area, over region pixels",
            "matched_dice": "plain mean over greedily matched pairs (FullNet)",
            "matched_hausdorff": "plain mean over greedily matched pairs, region pixels (FullNet)",
            "dice": "of the union of all objects",
        }
        return found
    found = dict(DEFINITIONS)
    for name in settings.presets:
        rule = PRESETS[name]
        found[f"dice_{name}"] = f"Dice; both empty {rule.overlap_both_empty}"
        found[f"hd95_{name}"] = (
            f"HD95 as {name}: {rule.surface}, {rule.combine}; one empty {rule.empty}, both "
            f"{rule.both_empty}" + (f" ({rule.note})" if rule.note else "")
        )
    return found


def versions() -> dict[str, str]:
    """Versions of medfed, Python and the packages that read and compute."""
    found = {"medfed": version("medfed"), "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def write_results(
    out: Path,
    results: Sequence[CaseResult],
    lines: Sequence[Line],
    pairing: Pairing,
    settings: Settings,
) -> None:
    """Write the four files, each whole or not at all.

    Raises:
        RunFolderError: the folder cannot be written.
    """
    about = {
        "format": FORMAT,
        "settings": settings.public(),
        "definitions": definitions(settings),
        "versions": versions(),
        "encoding": 'undefined scores are "nan", infinite distances "inf"',
    }
    report = {
        "pairs": len(pairing.pairs), "extra_predictions": list(pairing.extra),
        "ambiguous": pairing.ambiguous,
        "missing_predictions": [pair.case for pair in pairing.pairs if pair.pred is None],
    }  # fmt: skip
    cases = about | {"cases": [asdict(result) for result in results]}
    summary = about | {"pairing": report, "summary": [asdict(line) for line in lines]}
    try:
        write_atomically(out / "cases.json", dumped(cases, indent=1).encode())
        write_atomically(out / "summary.json", dumped(summary, indent=1).encode())
        write_atomically(out / "cases.csv", _cases_csv(results, pairing, settings).encode())
        write_atomically(out / "summary.csv", _summary_csv(lines).encode())
    except OSError as error:
        raise RunFolderError(f"{out}: cannot be written ({error}).") from error


def read_results(folder: Path) -> StoredResults:
    """Read the cases of an evaluation.

    Raises:
        ConfigError: no cases.json, a damaged one, or one of another format.
    """
    path = folder / "cases.json" if folder.is_dir() else folder
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["format"] != FORMAT:
            raise ConfigError(f"{path}: format {stored['format']}; this version reads {FORMAT}.")
        results = tuple(result_of(entry) for entry in stored["cases"])
        return StoredResults(folder, results, stored["settings"])
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error}). Give a folder that `medfed evaluate segmentation` wrote."
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: is no result of an evaluation ({error}).") from None


def _cases_csv(results: Sequence[CaseResult], pairing: Pairing, settings: Settings) -> str:
    pairs = {pair.case: pair for pair in pairing.pairs}
    regions = region_names(results, settings)
    columns = list(
        dict.fromkeys(
            c for r in results for row in r.regions.values() for c in row if c != "outcome"
        )
    )
    text = io.StringIO()
    writer = csv.DictWriter(text, [*LEADING, *columns, "seconds"], lineterminator="\n")
    writer.writeheader()
    for result in results:
        for region in regions if result.status == "scored" else [""]:
            writer.writerow(_row(result, region, pairs.get(result.case)))
    return text.getvalue()


def _row(result: CaseResult, region: str, pair: Pair | None) -> dict[str, Any]:
    scores = dict(result.regions.get(region, {}))
    absent = "both_empty" if result.status == "scored" else "skipped"
    return {
        "case": result.case, "patient": result.patient, "status": result.status, "region": region,
        "outcome": scores.pop("outcome", absent), "shape": "x".join(map(str, result.shape)),
        "spacing_mm": "x".join(f"{edge:g}" for edge in result.spacing_mm),
        "warnings": "; ".join(result.warnings), "message": result.message,
        "prediction": "" if pair is None or pair.pred is None else pair.pred.as_posix(),
        "reference": "" if pair is None else pair.ref.as_posix(),
        **{name: plain(value) for name, value in scores.items()},
        "seconds": round(result.seconds, 4),
    }  # fmt: skip


def _summary_csv(lines: Sequence[Line]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, [f.name for f in fields(Line)], lineterminator="\n")
    writer.writeheader()
    for line in lines:
        row = asdict(line)
        row["outcomes"] = "; ".join(f"{word} {count}" for word, count in line.outcomes.items())
        writer.writerow({name: plain(value) for name, value in row.items()})
    return text.getvalue()
