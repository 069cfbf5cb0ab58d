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
from medfed.data.vocabulary import Vocabulary
from medfed.errors import DataError

if TYPE_CHECKING:
    from medfed.data.site import DatasetSpec, Site

__all__ = ["check_options", "dataset_kinds", "open_cases"]

# kind -> module with `Options`, `open_dataset` and NEEDS_ROOT
_MODULES = {
    "nih_cxr14": "nih_cxr14",
    "idx_images": "idx_images",
    "jpeg_npz": "jpeg_npz",
    "pneumonia_npz": "pneumonia_npz",
    "image_folder": "image_folder",
    "phantom_chest": "phantom_chest",
}


def dataset_kinds() -> dict[str, str]:
    """Every kind with one line about it."""
    return {kind: str(_module(kind).__doc__).splitlines()[0] for kind in _MODULES}


def check_options(kind: str, options: Mapping[str, Any], *, has_root: bool) -> None:
    """Refuse an unknown kind, or options that are not the kind's.

    Raises:
        ValueError: says what is allowed; pydantic puts the place in site.toml before it.
    """
    if kind not in _MODULES:
        close = difflib.get_close_matches(kind, _MODULES, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"kind {kind!r} is not known (allowed: {', '.join(sorted(_MODULES))}){hint}"
        )
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


def open_cases(site: "Site", alias: str, vocabulary: Vocabulary) -> Cases:
    """The cases behind an alias, with labels in the job's vocabulary; pixels are not read yet.

    Raises:
        UnknownAlias: site.toml has no such alias.
        DataError: the folder, a table or an option of the dataset is wrong; says which.
    """
    spec = site.dataset(alias)
    module = _module(spec.kind)
    if spec.root is not None:
        _check_root(spec.root, alias)
    cases = module.open_dataset(spec.root, module.Options.model_validate(spec.options), vocabulary)
    kept = _restricted(cases, spec)
    if not len(kept):
        raise DataError(
            f"[datasets.{alias}] of site.toml holds no cases (root {spec.root}). "
            "Check root, patients and cases.",
            upstream="a dataset holds no cases",
        )
    return kept


def _module(kind: str) -> Any:  # noqa: ANN401 - a module that keeps the kinds' protocol
    return importlib.import_module(f"medfed.data.{_MODULES[kind]}")


def _check_root(root: Path, alias: str) -> None:
    where = f"[datasets.{alias}] root {root}"
    if not root.exists():
        raise DataError(f"{where}: does not exist. Correct it in site.toml or mount the disk.",
                        upstream="a dataset folder does not exist")  # fmt: skip
    if not os.access(root, os.R_OK):
        raise DataError(f"{where}: cannot be read by this user. Change its rights.",
                        upstream="a dataset folder cannot be read")  # fmt: skip
    if root.is_dir() and not any(root.iterdir()):
        raise DataError(f"{where}: is empty.", upstream="a dataset folder is empty")


def _restricted(cases: Cases, spec: "DatasetSpec") -> Cases:
    from medfed.data.site import read_lines

    keep = np.ones(len(cases), bool)
    for path, values in ((spec.patients, cases.patients), (spec.cases, cases.names)):
        if path is not None:
            listed = read_lines(path)
            keep &= np.array([value in listed for value in values], bool)
    return cases if keep.all() else cases.subset(np.flatnonzero(keep))
