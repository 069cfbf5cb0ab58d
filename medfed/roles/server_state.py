"""What a server role keeps between phases, so that a killed server resumes with the same numbers."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor

from medfed.errors import CheckpointError
from medfed.files import write_atomically
from medfed.messages import Opened, array_fields

__all__ = ["ServerState", "as_arrays", "as_tensors"]


class ServerState:
    """Files of finished phases in one folder; each is whole or absent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep_tensors(self, name: str, tensors: Mapping[str, Tensor]) -> None:
        """Keep named tensors."""
        whole = {key: value.contiguous() for key, value in tensors.items()}
        write_atomically(self.folder / f"{name}.safetensors", save(whole))

    def tensors(self, name: str) -> dict[str, Tensor] | None:
        """The named tensors, or None where the phase has not finished.

        Raises:
            CheckpointError: the file is damaged.
        """
        path = self.folder / f"{name}.safetensors"
        if not path.exists():
            return None
        try:
            return load(path.read_bytes())
        except Exception as error:  # the library raises its own untyped errors
            raise CheckpointError(
                f"{path}: is damaged ({error}). Delete it; the phase is then done again."
            ) from error

    def keep_names(self, name: str, sites: Sequence[str]) -> None:
        """Keep which sites are in a result."""
        write_atomically(self.folder / f"{name}.json", json.dumps(list(sites)).encode())

    def names(self, name: str) -> list[str] | None:
        """The sites in a result, or None where it has not finished.

        Raises:
            CheckpointError: the file is damaged.
        """
        path = self.folder / f"{name}.json"
        if not path.exists():
            return None
        try:
            return [str(site) for site in json.loads(path.read_text(encoding="utf-8"))]
        except (ValueError, TypeError) as error:
            raise CheckpointError(
                f"{path}: is damaged ({error}). Delete it; the phase is then done again."
            ) from error

    def keep_opened(self, opened: Mapping[str, Opened]) -> None:
        """Keep the sites' opening answers."""
        plain = {site: _plain(answer) for site, answer in opened.items()}
        write_atomically(self.folder / "opened.json", json.dumps(plain, sort_keys=True).encode())

    def opened(self) -> dict[str, Opened] | None:
        """The sites' opening answers, or None.

        Raises:
            CheckpointError: the file is damaged.
        """
        path = self.folder / "opened.json"
        if not path.exists():
            return None
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
            return {site: _opened(values) for site, values in plain.items()}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CheckpointError(
                f"{path}: is damaged ({error}). Delete it; the phase is then done again."
            ) from error


def _plain(answer: Opened) -> dict[str, Any]:
    values = {f.name: getattr(answer, f.name) for f in dataclasses.fields(answer)}
    return {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in values.items()}


def _opened(values: dict[str, Any]) -> Opened:
    arrays = {
        name: np.array(values[name], spec.dtype) for name, spec in array_fields(Opened).items()
    }
    return Opened(**{**values, **arrays})


def as_arrays(weights: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """Named weights as numpy arrays, on the CPU."""
    return {name: value.detach().cpu().numpy() for name, value in weights.items()}


def as_tensors(weights: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """Named weights as tensors."""
    return {name: torch.from_numpy(np.array(value)) for name, value in weights.items()}
