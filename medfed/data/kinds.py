"""Dataset kinds by name, and the one way to open a dataset."""

import difflib
import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from medfed.data.cases import Cases
from medfed.data.masks import MaskedCases
from medfed.data.vocabulary import Vocabulary
from medfed.errors import ConfigError, DataError

if TYPE_CHECKING:
    from medfed.data.site import DatasetSpec, Site

__all__ = [
    "check_options",
    "dataset_kinds",
    "open_cases",
    "open_dataset",
    "open_masked_cases",
    "path_options",
    "source_labels",
    "usual_vocabulary",
]

# Each is a module of this room with `Options`, `open_dataset`, NEEDS_ROOT and, where it has one, DEFAULT_TASK.
LABELLED = (
    "nih_cxr14",
    "chexpert",
    "rsna_pneumonia",
    "csv_images",
    "image_folder",
    "idx_images",
    "jpeg_npz",
    "pneumonia_npz",
    "phantom_chest",
)
MASKED = ("brats", "nuclei", "phantom_brain", "phantom_nuclei")
KINDS = (*LABELLED, *MASKED)


def dataset_kinds() -> dict[str, str]:
    """Every kind with one line about it."""
    return {kind: str(_module(kind).__doc__).splitlines()[0] for kind in KINDS}


def check_options(kind: str, options: Mapping[str, Any], *, has_root: bool) -> None:
    """Refuse an unknown kind, or options that are not the kind's.

    Raises:
        ValueError: says what is allowed; pydantic puts the place in site.toml before it.
    """
    if kind not in KINDS:
        close = difflib.get_close_matches(kind, KINDS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"kind {kind!r} is not known (allowed: {', '.join(sorted(KINDS))}){hint}")
    module = _module(kind)
    if module.NEEDS_ROOT and not has_root:
        raise ValueError(f"kind {kind!r} needs root, the folder of its files")
    try:
        module.Options.model_validate(dict(options))
    except ValidationError as error:
        allowed = ", ".join(sorted(module.Options.model_fields)) or "none"
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ValueError(
            f"options of kind {kind!r} are wrong: {wrong} (allowed: {allowed})"
        ) from None


def path_options(kind: str) -> tuple[str, ...]:
    """Options of a kind that are paths, so that a relative one starts at site.toml's folder."""
    fields = _module(kind).Options.model_fields
    return tuple(name for name, field in fields.items() if field.annotation == Path | None)


def usual_vocabulary(site: "Site", alias: str) -> Vocabulary | None:
    """The vocabulary that a dataset is usually read with; None where that is the job's choice.

    A folder of images has its own folders for classes; without labels any vocabulary reads it alike.
    """
    spec = site.dataset(alias)
    if spec.kind == "image_folder" and spec.root is not None:
        names = tuple(sorted(path.name for path in spec.root.glob("*") if path.is_dir()))
        if spec.options.get("labelled") and len(names) > 1:
            return Vocabulary(name="folders", title="by folder", kind="single_label", classes=names)
        return Vocabulary(
            name="unlabelled", title="no labels", kind="multi_label", classes=("any",)
        )
    task = getattr(_module(spec.kind), "DEFAULT_TASK", None)
    return Vocabulary.load(task) if task else None


def open_cases(site: "Site", alias: str, vocabulary: Vocabulary) -> Cases:
    """The cases behind an alias, with labels in the job's vocabulary; pixels are not read yet.

    Raises:
        UnknownAlias: site.toml has no such alias.
        ConfigError: the dataset has masks, or the task wants them.
        DataError: the folder, a table or an option of the dataset is wrong; says which.
    """
    cases = open_dataset(site, alias, vocabulary)
    if not isinstance(cases, Cases):
        raise _other_kind(site, alias, vocabulary)
    return cases


def open_masked_cases(site: "Site", alias: str, vocabulary: Vocabulary) -> MaskedCases:
    """The images and masks behind an alias, with regions in the job's vocabulary.

    Raises:
        UnknownAlias: site.toml has no such alias.
        ConfigError: the dataset has no masks, or the task wants none.
        DataError: the folder, a file's place or an option of the dataset is wrong; says which.
    """
    cases = open_dataset(site, alias, vocabulary)
    if not isinstance(cases, MaskedCases):
        raise _other_kind(site, alias, vocabulary)
    return cases


def open_dataset(site: "Site", alias: str, vocabulary: Vocabulary) -> Cases | MaskedCases:
    """What is behind an alias, whichever of the two it is."""
    spec = site.dataset(alias)
    if (spec.kind in MASKED) != (vocabulary.kind in ("regions", "instances")):
        raise _other_kind(site, alias, vocabulary)
    module = _module(spec.kind)
    if spec.root is not None:
        _check_root(spec.root, alias)
    options = module.Options.model_validate(spec.options)
    cases: Cases | MaskedCases = module.open_dataset(spec.root, options, vocabulary)
    kept = _restricted(cases, spec)
    if not len(kept):
        raise DataError(
            f"[datasets.{alias}] of site.toml holds no cases (root {spec.root}). "
            "Check root, patients and cases.",
            upstream="a dataset holds no cases",
        )
    return kept


def source_labels(site: "Site", alias: str) -> dict[str, int]:
    """How often each label stands in the dataset itself, before any mapping; empty where a kind has no table."""
    spec = site.dataset(alias)
    module = _module(spec.kind)
    if not hasattr(module, "source_labels"):
        return {}
    counts: dict[str, int] = module.source_labels(
        spec.root, module.Options.model_validate(spec.options)
    )
    return counts


def _module(kind: str) -> Any:  # noqa: ANN401 - a module that keeps the kinds' protocol
    return importlib.import_module(f"medfed.data.{kind}")


def _other_kind(site: "Site", alias: str, vocabulary: Vocabulary) -> ConfigError:
    kind = site.dataset(alias).kind
    has = "images with masks" if kind in MASKED else "images with labels"
    return ConfigError(
        f"[datasets.{alias}] of site.toml is of kind {kind!r}, which gives {has}, but the task {vocabulary.name!r} is "
        f"of kind {vocabulary.kind!r}. Name another alias or another task.",
        upstream="a dataset does not suit the job's task",
    )


def _check_root(root: Path, alias: str) -> None:
    where = f"[datasets.{alias}] root {root}"
    if not root.exists():
        raise DataError(
            f"{where}: does not exist. Correct it in site.toml or mount the disk.",
            upstream="a dataset folder does not exist",
        )
    if not os.access(root, os.R_OK | os.X_OK):
        raise DataError(
            f"{where}: cannot be read by this user. Change its rights.",
            upstream="a dataset folder cannot be read",
        )
    if not root.is_dir():
        raise DataError(f"{where}: is a file, not a folder.", upstream="a dataset folder is a file")
    if not any(root.iterdir()):
        raise DataError(f"{where}: is empty.", upstream="a dataset folder is empty")


def _restricted(cases: Cases | MaskedCases, spec: "DatasetSpec") -> Cases | MaskedCases:
    from medfed.data.site import read_lines

    keep = np.ones(len(cases), bool)
    for path, values in ((spec.patients, cases.patients), (spec.cases, cases.names)):
        if path is not None:
            listed = read_lines(path)
            keep &= np.array([value in listed for value in values], bool)
    return cases if keep.all() else cases.subset(np.flatnonzero(keep))
