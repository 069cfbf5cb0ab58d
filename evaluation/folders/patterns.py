"""Cases by the names of their files."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from medfed.errors import ConfigError
from medfed.evaluation.mask_files import SUFFIXES, mask_suffix

__all__ = ["by_case", "image_stem", "matching", "nothing_paired", "stem_of"]

IMAGE_SUFFIXES = (
    ".nii.gz", ".nii", ".png", ".tif", ".tiff", ".jpg", ".jpeg", ".bmp", ".npy",
)  # fmt: skip
SHOWN = 3  # names shown as examples in an error


def image_stem(path: Path, folder: Path) -> str:
    """The case an image would belong to by its name; empty for what is no image."""
    name = path.relative_to(folder).as_posix()
    suffix = next((end for end in IMAGE_SUFFIXES if name.lower().endswith(end)), None)
    return name[: -len(suffix)] if suffix and path.is_file() else ""


def by_case(folder: Path, pattern: str) -> dict[str, list[Path]]:
    """Masks below a folder by case; several where a name is not unique.

    Raises:
        ConfigError: no such folder, or a wrong pattern.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder}: there is no such folder.")
    found: dict[str, list[Path]] = {}
    for case, path in matching(folder, pattern) if pattern else _masks(folder):
        found.setdefault(case, []).append(path)
    return {case: sorted(paths) for case, paths in found.items()}


def _masks(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and mask_suffix(path.name) and path.is_file():
            yield stem_of(path.relative_to(folder).as_posix()), path


def matching(folder: Path, pattern: str) -> Iterator[tuple[str, Path]]:
    """Case and path of everything below a folder that a pattern fits.

    Raises:
        ConfigError: a pattern without {case}.
    """
    wanted = _expression(pattern)
    folders = pattern.endswith("/")
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix() + ("/" if folders else "")
        match = wanted.fullmatch(name)
        if match and (path.is_dir() if folders else path.is_file()):
            yield match["case"], path


def _expression(pattern: str) -> re.Pattern[str]:
    """The regular expression of a pattern; each {case} after the first repeats it."""
    if "{case}" not in pattern:
        raise ConfigError(
            f"pattern {pattern!r}: must hold {{case}}, such as '{{case}}_pred.nii.gz'."
        )
    first, *rest = pattern.split("{case}")
    parts = [_literal(first), "(?P<case>[^/]+?)", "(?P=case)".join(map(_literal, rest))]
    return re.compile("".join(parts))


def _literal(text: str) -> str:
    return "[^/]*".join(re.escape(part) for part in text.split("*"))


def stem_of(name: str) -> str:
    """A file's name without the ending of its format."""
    suffix = mask_suffix(name)
    return name[: -len(suffix)] if suffix else name


def nothing_paired(
    pred: Path, ref: Path, found_pred: dict[str, list[Path]], found_ref: dict[str, list[Path]]
) -> str:
    """Why no pair was found: names of both sides, and patterns that would fit them."""
    lines = ["no prediction has the name of a reference."]
    for side, folder, found in (("prediction", pred, found_pred), ("reference", ref, found_ref)):
        names = sorted(str(paths[0].relative_to(folder)) for paths in found.values())
        if not names:
            lines.append(f"{folder}: no {side} found (known formats: {', '.join(SUFFIXES)}).")
            continue
        lines.append(f"{folder}: {len(names)} {side}s, such as {', '.join(names[:SHOWN])}.")
        if suggestion := _suggestion(names):
            lines.append(f"Try --{side[:4] if side[0] == 'p' else 'ref'}-pattern '{suggestion}'.")
    return " ".join(lines)


def _suggestion(names: Sequence[str]) -> str:
    """A pattern made of what all names share at their ends; empty where that is nothing."""
    if len(names) < 2 or any("/" in name for name in names):
        return ""
    first, last = min(names), max(names)
    start = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    turned = [name[::-1] for name in names]
    low, high = min(turned), max(turned)
    end = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), 0)
    start = start if not first[:start][-1:].isalnum() else _word_border(first[:start])
    return f"{first[:start]}{{case}}{first[len(first) - end :]}"


def _word_border(text: str) -> int:
    """Length of the text up to and with its last separator, so that a number is not cut in two."""
    places = [text.rfind(sign) for sign in "_-. "]
    return max(places) + 1
