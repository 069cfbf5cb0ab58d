"""What a site's engineer should know about a dataset before a job: each remark with what to do."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from medfed.data.cases import Cases
from medfed.data.site import DatasetSpec
from medfed.data.survey import Survey

__all__ = ["Remark", "remarks"]

DARK, FLAT = 0.02, 0.01  # mean and range, of 1, below which an image shows nothing
NAMED = 3  # examples named in a remark
UNEVEN_SPACING = 2.0  # ratio of the largest to the smallest pixel that deserves a word


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing to know. "error": a job would stop. "warning": a job would run, and perhaps mislead."""

    level: Literal["error", "warning", "note"]
    text: str


def remarks(found: Survey, spec: DatasetSpec) -> list[Remark]:
    """Everything worth saying about one dataset, the gravest first."""
    said = [
        *_files(found, spec),
        *_duplicates(found),
        *_labels(found),
        *_pictures(found),
        *_geometry(found),
    ]
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(said, key=lambda remark: order[remark.level])


def _files(found: Survey, spec: DatasetSpec) -> list[Remark]:
    bad, total = len(found.unreadable), len(found.facts)
    if not bad:
        return []
    first = "; ".join(fact.problem for fact in found.unreadable[:NAMED])
    share = bad / total
    if spec.on_bad_file == "stop":
        return [
            Remark(
                "error", f'{bad} of {total} files cannot be read and on_bad_file is "stop": {first}'
            )
        ]
    if share > spec.max_bad_share:
        return [
            Remark(
                "error",
                f"{bad} of {total} files cannot be read, more than max_bad_share {spec.max_bad_share}: {first}",
            )
        ]
    return [
        Remark("warning", f"{bad} of {total} files cannot be read and will be left out: {first}")
    ]


def _duplicates(found: Survey) -> list[Remark]:
    said = []
    groups = found.duplicates()
    owner = dict(zip(found.cases.names, found.cases.patients, strict=True))
    across = [names for names in groups if len({owner[name] for name in names}) > 1]
    if across:
        said.append(
            Remark(
                "warning",
                f"{len(across)} images stand under two patients, first {across[0][0]} and {across[0][1]}. "
                "A split by patient cannot keep them apart: list one of each under `cases` to leave out.",
            )
        )
    if len(groups) > len(across):
        inside = next(names for names in groups if names not in across)
        said.append(
            Remark(
                "note",
                f"{len(groups) - len(across)} groups of identical images within one patient, first "
                f"{inside[0]} and {inside[1]}: harmless, but they count twice.",
            )
        )
    conflict = _conflict(found, groups)
    if conflict:
        said.append(
            Remark(
                "warning",
                f"{conflict[0]} and {conflict[1]} are the same image with different labels. Correct one.",
            )
        )
    return said


def _conflict(found: Survey, groups: list[list[str]]) -> list[str] | None:
    if not isinstance(found.cases, Cases):
        return None
    labels = dict(zip(found.cases.names, found.cases.labels, strict=True))
    return next(
        (names for names in groups if any((labels[n] != labels[names[0]]).any() for n in names)),
        None,
    )


def _labels(found: Survey) -> list[Remark]:
    counts = found.label_counts()
    said = []
    annotated = {name: row for name, row in counts.items() if row["positive"] + row["negative"]}
    if not annotated:
        said.append(
            Remark("note", "no case has a label: usable as a public set, not for training.")
        )
        return said
    empty = [name for name, row in annotated.items() if not row["positive"]]
    full = [name for name, row in annotated.items() if not row["negative"]]
    shown = [name for name, row in annotated.items() if row["positive"]]
    if len(shown) == 1 and len(annotated) > 1 and not annotated[shown[0]]["negative"]:
        said.append(
            Remark(
                "warning",
                f"only one class occurs ({shown[0]}): a network trained here alone learns nothing about others.",
            )
        )
    if empty:
        said.append(
            Remark(
                "warning",
                f"no positive case of {', '.join(empty)}: these classes cannot be learned here.",
            )
        )
    if full and isinstance(found.cases, Cases) and len(shown) > 1:
        said.append(Remark("warning", f"no negative case of {', '.join(full)}."))
    never = [name for name in counts if name not in annotated]
    if never:
        said.append(
            Remark(
                "note",
                f"never annotated here, and therefore unknown, not negative: {', '.join(never)}.",
            )
        )
    if isinstance(found.cases, Cases):
        blank = int((found.cases.labels < 0).all(axis=1).sum())
        if blank:
            said.append(Remark("note", f"{blank} cases have no known label at all."))
    patients = Counter(found.cases.patients)
    if len(patients) < 3:
        said.append(
            Remark(
                "warning",
                f"only {len(patients)} patients: too few to split into training and validation.",
            )
        )
    return said


def _pictures(found: Survey) -> list[Remark]:
    if not isinstance(found.cases, Cases):
        return []
    said = []
    dark = [fact.name for fact in found.readable if fact.mean < DARK]
    flat = [fact.name for fact in found.readable if fact.high - fact.low < FLAT]
    if dark:
        said.append(
            Remark(
                "warning",
                f"{len(dark)} images are almost black, first {dark[0]}: look at the contact sheet.",
            )
        )
    if flat:
        said.append(
            Remark(
                "warning",
                f"{len(flat)} images have no contrast, first {flat[0]}: look at the contact sheet.",
            )
        )
    modes = found.counted("mode")
    if len(modes) > 1:
        said.append(
            Remark(
                "note",
                f"images come as {', '.join(f'{mode} ({n})' for mode, n in modes.items())}; all are read alike.",
            )
        )
    return said


def _geometry(found: Survey) -> list[Remark]:
    said = []
    spacings = [fact.spacing_mm for fact in found.readable]
    stated = [spacing for spacing in spacings if spacing]
    if stated and len(stated) < len(spacings):
        said.append(
            Remark(
                "note", f"{len(spacings) - len(stated)} of {len(spacings)} files state no spacing."
            )
        )
    if stated and len({len(spacing) for spacing in stated}) == 1:
        table = np.array(stated)
        if (table.max(axis=0) > UNEVEN_SPACING * table.min(axis=0)).any():
            said.append(
                Remark("note", "the coarsest image has more than twice the finest one's spacing.")
            )
    orientations = [name for name in found.counted("orientation") if name != "not stated"]
    if len(orientations) > 1:
        said.append(
            Remark(
                "note",
                f"files come in orientations {', '.join(orientations)}; all are turned alike.",
            )
        )
    return said
