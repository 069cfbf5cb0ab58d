"""Which prediction belongs to which reference, and what has no partner."""

import csv
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from medfed.errors import ConfigError, DataError
from medfed.evaluation.folders.patterns import (
    by_case,
    image_stem,
    matching,
    nothing_paired,
    stem_of,
)

__all__ = ["Pair", "Pairing", "PatientRule", "image_files", "pair_files", "read_pairs"]

COLUMNS = ("case", "prediction", "reference")


@dataclass(frozen=True, slots=True)
class Pair:
    """One case.

    Attributes:
        case: its name, unique.
        patient: whom it belongs to; cases of one patient are drawn together in intervals.
        pred: the prediction's path; None where there is none.
        ref: the reference's path.
        image: the picture to draw contours on; None where there is none.
    """

    case: str
    patient: str
    pred: Path | None
    ref: Path
    image: Path | None = None


@dataclass(frozen=True, slots=True)
class Pairing:
    """All cases, and what was left over.

    Attributes:
        pairs: one for each reference, by name.
        extra: predictions without a reference; they are listed and not scored.
        ambiguous: names that several files claim, with those files; they are not scored.
    """

    pairs: tuple[Pair, ...]
    extra: tuple[Path, ...] = ()
    ambiguous: dict[str, tuple[Path, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PatientRule:
    """How a patient is found in a case's name: by a regular expression, or each case is its own.

    Attributes:
        pattern: its group `patient`, its first group or the whole match is the patient.
    """

    pattern: str = ""

    def of(self, case: str) -> str:
        """The patient of a case.

        Raises:
            ConfigError: no regular expression, or one that a case does not match.
        """
        if not self.pattern:
            return case
        try:
            match = re.search(self.pattern, case)
        except re.error as error:
            raise ConfigError(f"--patient-pattern {self.pattern!r}: {error}.") from None
        if match is None:
            raise ConfigError(f"--patient-pattern {self.pattern!r} does not match case {case!r}.")
        if "patient" in match.re.groupindex:
            return str(match["patient"])
        return str(match[1] if match.re.groups else match[0])


def pair_files(
    pred: Path,
    ref: Path,
    *,
    pred_pattern: str = "",
    ref_pattern: str = "",
    patients: PatientRule | None = None,
) -> Pairing:
    """Pair the masks of two folders by case name.

    A pattern is a path below its folder: {case} stands for the case's name, * for anything within one
    name, and a / at the end asks for a folder of object masks. Without a pattern a case is named by
    its path without the format's ending.

    Args:
        pred: folder of predictions, or one file.
        ref: folder of references, or one file.
        pred_pattern: such as "{case}_pred.nii.gz".
        ref_pattern: such as "{case}/{case}-seg.nii.gz" or "{case}/masks/".
        patients: how a patient is found in a case's name.

    Raises:
        ConfigError: a folder is missing or a pattern is wrong.
        DataError: no pair at all; the text shows names of both sides and a pattern that would fit.
    """
    patients = patients or PatientRule()
    if pred.is_file() and ref.is_file():
        case = stem_of(ref.name)
        return Pairing((Pair(case, patients.of(case), pred, ref),))
    found_pred, found_ref = by_case(pred, pred_pattern), by_case(ref, ref_pattern)
    if not set(found_pred) & set(found_ref):
        raise DataError(nothing_paired(pred, ref, found_pred, found_ref))
    ambiguous = {
        case: tuple(paths)
        for found in (found_pred, found_ref)
        for case, paths in found.items()
        if len(paths) > 1 and case in found_ref
    }
    pairs = [
        Pair(case, patients.of(case), found_pred.get(case, [None])[0], found_ref[case][0])
        for case in sorted(found_ref)
        if case not in ambiguous
    ]
    extra = [path for case in found_pred if case not in found_ref for path in found_pred[case]]
    return Pairing(tuple(pairs), tuple(sorted(extra)), ambiguous)


def read_pairs(table: Path, *, patients: PatientRule | None = None) -> Pairing:
    """Pairs from a CSV with the columns case, prediction, reference, and perhaps patient and image.

    Paths are taken from the table's folder. An empty prediction is a missing one.

    Raises:
        ConfigError: no such file, a column is missing, an empty reference or a case named twice.
    """
    patients = patients or PatientRule()
    try:
        with table.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"{table}: cannot be read as CSV ({error}).") from None
    missing = [name for name in COLUMNS if not rows or name not in rows[0]]
    if missing:
        raise ConfigError(f"{table}: has no column or row {missing[0]!r} (needed: {COLUMNS}).")
    pairs: dict[str, Pair] = {}
    for number, row in enumerate(rows, start=2):
        case = (row["case"] or "").strip()
        if not case or not row["reference"] or case in pairs:
            raise ConfigError(f"{table}, line {number}: case {case!r} is empty or there twice.")
        image = row.get("image")
        pairs[case] = Pair(
            case, row.get("patient") or patients.of(case),
            table.parent / row["prediction"] if row["prediction"] else None,
            table.parent / row["reference"], table.parent / image if image else None,
        )  # fmt: skip
    return Pairing(tuple(pairs[case] for case in sorted(pairs)))


def image_files(pairing: Pairing, folder: Path, pattern: str = "") -> Pairing:
    """The same pairs, each with its image where the folder has one.

    Args:
        pairing: of masks.
        folder: of images.
        pattern: as in pair_files; without it a case's image has its name, with any picture's ending.

    Raises:
        ConfigError: the folder is missing or the pattern is wrong.
    """
    if not folder.is_dir():
        raise ConfigError(f"--images {folder}: there is no such folder.")
    if pattern:
        found = dict(matching(folder, pattern))
    else:
        named = ((image_stem(path, folder), path) for path in sorted(folder.rglob("*")))
        found = {stem: path for stem, path in named if stem}
    pairs = tuple(
        replace(pair, image=found.get(pair.case) or found.get(pair.case.rsplit("/")[-1]))
        for pair in pairing.pairs
    )
    return replace(pairing, pairs=pairs)
