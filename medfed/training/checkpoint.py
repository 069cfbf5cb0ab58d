"""A training's saved state: one file that is whole, of this run, and verified when read."""

import hashlib
import io
import pickle
from pathlib import Path
from typing import Any

import torch

from medfed.errors import CheckpointError
from medfed.files import write_atomically

__all__ = ["read_checkpoint", "save_checkpoint"]

NAME = "checkpoint.pt"
DIGEST_BYTES = 32


def save_checkpoint(folder: Path, state: dict[str, Any], *, identity: str) -> None:
    """Write the state so that a crash leaves the previous one."""
    buffer = io.BytesIO()
    torch.save({**state, "identity": identity}, buffer)
    data = buffer.getvalue()
    write_atomically(folder / NAME, hashlib.sha256(data).digest() + data)


def read_checkpoint(folder: Path, *, identity: str) -> dict[str, Any] | None:
    """The saved state, or None where nothing was saved yet; tensors on the CPU.

    Raises:
        CheckpointError: the file is damaged, unreadable, or of another run.
    """
    path = folder / NAME
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror}).") from error
    digest, data = raw[:DIGEST_BYTES], raw[DIGEST_BYTES:]
    damaged = f"{path}: is damaged. Delete the file; this training then starts again."
    if hashlib.sha256(data).digest() != digest:
        raise CheckpointError(damaged)
    try:
        state: dict[str, Any] = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except (RuntimeError, pickle.UnpicklingError, EOFError, ValueError) as error:
        raise CheckpointError(damaged) from error
    if state.get("identity") != identity:
        raise CheckpointError(
            f"{path}: belongs to a training with other settings, cases or seed. Delete the file, "
            "or use another folder."
        )
    return state
