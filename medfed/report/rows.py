"""Rows on disk: CSV and JSON lines that only grow, and what survives of them after a power cut."""

import csv
import dataclasses
import io
import json
import typing
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from medfed.errors import RunFolderError

__all__ = [
    "append_csv",
    "append_json_line",
    "csv_text",
    "from_plain",
    "read_csv",
    "read_json_lines",
    "trim",
]

Row = TypeVar("Row")
HEADERS = {"label": "class", "total_bytes": "bytes"}  # where a column's name is not the field's


def csv_text(kind: type, rows: Iterable[object], *, header: bool = True) -> str:
    """Dataclass rows as CSV text."""
    names = [f.name for f in dataclasses.fields(kind)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header:
        writer.writerow([HEADERS.get(name, name) for name in names])
    for row in rows:
        writer.writerow([_cell(getattr(row, name)) for name in names])
    return text.getvalue()


def append_csv(path: Path, kind: type, row: object) -> None:
    """Add one row; the header comes with the first."""
    new = not path.exists() or path.stat().st_size == 0
    _append(path, csv_text(kind, [row], header=new))


def append_json_line(path: Path, row: Any) -> None:  # noqa: ANN401 - any dataclass
    """Add one row as a JSON line."""
    _append(path, json.dumps(dataclasses.asdict(row), separators=(",", ":")) + "\n")


def read_csv(path: Path, kind: type[Row]) -> tuple[Row, ...]:
    """The rows of a CSV file; none where it does not exist.

    Raises:
        RunFolderError: a line that is not a row of this kind.
    """
    types = typing.get_type_hints(kind)
    names = [f.name for f in dataclasses.fields(kind)]  # type: ignore[arg-type]
    found = []
    for number, cells in enumerate(csv.reader(io.StringIO("\n".join(_whole_lines(path)))), start=1):
        if number == 1:
            if cells != [HEADERS.get(name, name) for name in names]:
                raise RunFolderError(f"{path}:1: the columns are not those of a {kind.__name__}.")
            continue
        try:
            found.append(
                kind(**{n: _value(types[n], c) for n, c in zip(names, cells, strict=True)})
            )
        except ValueError as error:
            raise RunFolderError(
                f"{path}:{number}: is not a row of {kind.__name__}: {error}."
            ) from error
    return tuple(found)


def read_json_lines(path: Path, kind: type[Row]) -> Iterator[Row]:
    """The rows of a JSON-lines file, one at a time; none where it does not exist.

    Raises:
        RunFolderError: a line that is not a row of this kind.
    """
    for number, line in enumerate(_whole_lines(path), start=1):
        try:
            yield from_plain(kind, json.loads(line))
        except (ValueError, TypeError) as error:
            raise RunFolderError(
                f"{path}:{number}: is not a row of {kind.__name__}: {error}."
            ) from error


def from_plain(kind: type[Row], values: Mapping[str, Any]) -> Row:
    """A dataclass from JSON values; lists become tuples, unknown keys are ignored.

    Raises:
        TypeError: a field without a default is missing, or `values` is no mapping.
    """
    if not isinstance(values, Mapping):
        raise TypeError(f"expected an object, got {type(values).__name__}")
    types = typing.get_type_hints(kind)
    known = {f.name for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    chosen = {
        name: tuple(value) if typing.get_origin(types[name]) is tuple else value
        for name, value in values.items()
        if name in known
    }
    return kind(**chosen)


def trim(path: Path) -> None:
    """Cut a last line that was left without its end, so that the next row starts on its own."""
    if not path.exists():
        return
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(data.rfind(b"\n") + 1)


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise RunFolderError(
            f"{path}: cannot be written ({error.strerror}). Free disk space or mend its rights, "
            "then run again with --resume; what is finished is kept."
        ) from error


def _whole_lines(path: Path) -> Iterator[str]:
    if not path.exists():
        return
    with path.open(encoding="utf-8", newline="") as file:
        yield from (line[:-1] for line in file if line.endswith("\n"))


def _cell(value: object) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _value(annotation: object, cell: str) -> object:
    if annotation is bool:
        return cell == "True"
    if annotation is int:
        return int(cell)
    return float(cell) if annotation is float else cell
