"""How a party computes: threads, determinism and the device."""

import contextlib
import os

import torch

from medfed.errors import ConfigError

__all__ = ["compute_with", "device_of"]


def compute_with(threads: int) -> None:
    """Compute with a fixed number of threads and the same bits every time; may be called again.

    On a CPU an operation without a deterministic form raises; on a machine with a GPU it warns,
    because some of the networks' layers have none there.

    Args:
        threads: CPU threads of one operation; another number may change the last bits.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.set_num_threads(threads)
    if torch.get_num_interop_threads() != 1:
        with contextlib.suppress(RuntimeError):  # parallel work has begun; results stay the same
            torch.set_num_interop_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=torch.cuda.is_available())
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.backends.cudnn.benchmark = False


def device_of(name: str) -> torch.device:
    """The device that a name stands for: "auto" is the GPU where there is one.

    Raises:
        ConfigError: no such device here.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cpu":
        return torch.device("cpu")
    if name.split(":")[0] == "cuda" and torch.cuda.is_available():
        return torch.device(name)
    raise ConfigError(f"device {name!r} is not available here. Use auto, cpu, or cuda with a GPU.")
