"""Label tables as hospitals export them: CSV with commas, semicolons or tabs, with or without a BOM."""

import codecs
import csv
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from medfed.errors import DataError

__all__ = ["Row", "find_table", "image_path", "merged", "read_table", "without_missing"]

Row = tuple[int, dict[str, str]]


def find_table(root: Path, pattern: str) -> Path:
    """The first file below `root` that a pattern matches.

    Raises:
        DataError: there is none.
    """
    found = sorted(root.glob(pattern))
    if not found:
        raise DataError(
            f"{root}: has no label table {pattern!r}. Put it there or set table in site.toml.",
            upstream="a label table is missing",
        )
    return found[0]


def read_table(path: Path, needed: Iterable[str]) -> list[Row]:
    """Line number and cells, without surrounding blanks, of every row that is not empty.

    Raises:
        DataError: cannot be read, lacks a column, or a row is cut short.
    """
    try:
        data = path.read_bytes()
        text = data.decode(
            "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
        )
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: cannot be read as CSV ({error}). Save it as CSV in UTF-8.",
            upstream="a label table is damaged",
        ) from error
    lines = text.splitlines()
    first = lines[0] if lines else ""
    comma = max(",;\t", key=first.count)
    try:
        rows = list(csv.reader(lines, delimiter=comma, strict=True))
    except csv.Error as error:
        raise DataError(
            f"{path}: cannot be read as CSV ({error}).", upstream="a label table is damaged"
        ) from error
    header = [name.strip() for name in rows[0]] if rows else []
    absent = sorted(set(needed) - set(header))
    if absent:
        raise DataError(
            f"{path}: has no column {absent} (found: {[name for name in header if name]}).",
            upstream="a label table lacks a column",
        )
    last = max((header.index(name) for name in needed), default=0)
    table: list[Row] = []
    for number, cells in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) <= last:
            raise DataError(
                f"{path}:{number}: is cut short. Restore the table.",
                upstream="a label table is damaged",
            )
        table.append(
            (
                number,
                {name: cell.strip() for name, cell in zip(header, cells, strict=False) if name},
            )
        )
    return table


def image_path(text: str, folders: Iterable[Path]) -> Path:
    """Where a table's path lies: Windows or POSIX, below one of these folders, with or without its first parts.

    A path that is nowhere comes back below the first folder. Parts such as ".." are refused.
    """
    parts = [part for part in text.replace("\\", "/").split("/") if part not in ("", ".")]
    roots = list(folders)
    if parts and parts[0].endswith(":"):
        parts = parts[1:]
    if not parts or ".." in parts:
        return roots[0] / "not-a-path"
    for skipped in range(len(parts)):
        for root in roots:
            candidate = root.joinpath(*parts[skipped:])
            if candidate.is_file():
                return candidate
    return roots[0].joinpath(*parts)


def merged(
    rows: dict[str, tuple[str, np.ndarray]], name: str, patient: str, labels: np.ndarray, where: str
) -> None:
    """Put one row in; a row that stands twice must say the same twice.

    Raises:
        DataError: it stands twice with other labels or another patient.
    """
    if name in rows and (rows[name][0] != patient or not np.array_equal(rows[name][1], labels)):
        raise DataError(
            f"{where}: {name} stands twice with different findings or patients. Remove one row.",
            upstream="an image stands twice in a table with different labels",
        )
    rows[name] = (patient, labels)


def without_missing(
    names: Iterable[str], path_of: Callable[[str], Path | None], *, table: Path, only_present: bool
) -> dict[str, Path]:
    """The image of each name that has one.

    Raises:
        DataError: an image is missing and `only_present` is false; names the first and the remedy.
    """
    found: dict[str, Path] = {}
    missing: list[str] = []
    for name in names:
        path = path_of(name)
        if path is None or not path.is_file():
            missing.append(name)
        else:
            found[name] = path
    if missing and not only_present:
        raise DataError(
            f"{table}: names {len(missing)} images that are not there, first {missing[0]}. Restore the files, "
            "correct the dataset's folders in site.toml, or set only_present = true to leave such rows out.",
            upstream="a table names images that are missing",
        )
    return found
