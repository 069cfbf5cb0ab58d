"""Which files of a folder are which modality, under the names of 2013 to 2023."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from medfed.data.folders import files_below
from medfed.errors import DataError

__all__ = ["LABEL_SETS", "Study", "label_set_of", "studies"]

MODALITIES = {
    "t1": {"t1", "t1n"},
    "t1c": {"t1ce", "t1c", "t1gd"},
    "t2": {"t2", "t2w"},
    "flair": {"flair", "t2f"},
    "mask": {"seg", "otmulticlass", "gt"},
}
LABEL_SETS = ("brats2013", "brats2018", "brats2023", "binary")
NAMES = (  # name of a study's folder -> label set
    (re.compile(r"brats_2013", re.IGNORECASE), "brats2013"),
    (re.compile(r"brats(1[4-9]|20|2021)[_-]", re.IGNORECASE), "brats2018"),
    (re.compile(r"brats-[a-z]+-\d+-\d+", re.IGNORECASE), "brats2023"),
)
# A visit is counted after the patient: Brats18_TCIA08_278_1, brats_2013_pat0001_1, BraTS-GLI-00001-000.
VISIT = re.compile(
    r"^(?P<patient>brats(?:1[4-9]_.+|_2013_.+|-[a-z]+-\d+))[_-]\d{1,3}$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Study:
    """One visit of one patient.

    Args:
        name: path of its folder below root.
        patient: the folder's name without the visit's number.
        files: modality, or "mask", to file.
    """

    name: str
    patient: str
    files: dict[str, Path]


def studies(root: Path, modalities: Iterable[str]) -> list[Study]:
    """Every folder below `root` with at least one of the wanted modalities, by name.

    Raises:
        DataError: two files of a folder are the same modality, or a wanted one is missing.
    """
    wanted = tuple(modalities)
    folders: dict[Path, dict[str, Path]] = {}
    for path in files_below(root, {".gz", ".nii"}):
        kind = _modality(path)
        if kind is None:
            continue
        files = folders.setdefault(path.parent, {})
        if kind in files:
            raise DataError(
                f"{path.parent}: {files[kind].name} and {path.name} are both {kind}: two series in one folder. "
                "Keep one, or put them in a folder each.",
                upstream="a folder holds two series of one modality",
            )
        files[kind] = path
    found = []
    for folder, files in sorted(folders.items()):
        absent = [kind for kind in wanted if kind not in files]
        if len(absent) == len(wanted):
            continue
        if absent:
            raise DataError(
                f"{folder}: has no {', '.join(absent)} image (found: {sorted(files)}). Restore it, or change "
                "modalities in site.toml.",
                upstream="a modality is missing",
            )
        name = folder.relative_to(root).as_posix() if folder != root else folder.name
        match = VISIT.match(folder.name)
        found.append(Study(name, match["patient"] if match else folder.name, files))
    return found


def label_set_of(name: str) -> str | None:
    """The label set that a study's name speaks for; None where it says nothing."""
    return next((label_set for pattern, label_set in NAMES if pattern.search(name)), None)


def _modality(path: Path) -> str | None:
    name = path.name.lower()
    if not name.endswith((".nii", ".nii.gz")):
        return None
    words = re.split(r"[^a-z0-9]+", name.removesuffix(".gz").removesuffix(".nii"))
    for word in reversed(words):
        for kind, spellings in MODALITIES.items():
            if word in spellings:
                return kind
    return None
