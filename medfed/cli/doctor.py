"""`medfed doctor`: versions, hardware, what is installed, and whether an NVFlare server answers."""

import os
import platform
import socket
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

import medfed
from medfed.errors import ConfigError

__all__ = ["doctor", "main"]

PACKAGES = {
    "numpy": "core", "scipy": "core", "numba": "core", "nibabel": "core", "scikit-image": "core",
    "torch": "train", "monai": "train", "nvflare": "flare", "pydicom": "dicom", "dp-accounting": "privacy",
}  # fmt: skip
CONNECT_S = 5.0


def main(argv: list[str]) -> int:
    """Parse and run."""
    return tyro.cli(doctor, args=argv, prog="medfed doctor")


def doctor(server: Annotated[str, tyro.conf.arg(metavar="HOST:PORT")] = "") -> int:
    """Print what this machine has; exit code 1 when something that medfed needs is missing.

    Args:
        server: also try to reach an NVFlare server at this address.
    """
    console = Console()
    table = Table(
        title=f"medfed {medfed.__version__} on Python {platform.python_version()}, {platform.machine()}"
    )
    for heading in ("what", "found", "needed for"):
        table.add_column(heading)
    missing_core = False
    for package, extra in PACKAGES.items():
        found = _version(package)
        missing_core |= found is None and extra == "core"
        table.add_row(
            package,
            found or "[red]missing[/red]",
            "everything" if extra == "core" else f"medfed[{extra}]",
        )
    table.add_row("CPU cores", str(os.cpu_count()), "speed only")
    table.add_row("memory", f"{_memory_gib():.1f} GiB", "about 0.5 GiB a site process")
    table.add_row("GPU", _gpu(), "speed only; a site without one always works")
    console.print(table)
    reached = _reach(server, console) if server else True
    return 0 if reached and not missing_core and sys.version_info >= (3, 11) else 1


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _gpu() -> str:
    if _version("torch") is None:
        return "unknown without torch"
    import torch

    if not torch.cuda.is_available():
        return "none seen by torch"
    return ", ".join(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count()))


def _reach(server: str, console: Console) -> bool:
    host, _, port = server.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ConfigError(f"--server {server!r}: must be HOST:PORT, such as fl.example.org:8002.")
    try:
        with socket.create_connection((host, int(port)), timeout=CONNECT_S):
            console.print(
                f"{server}: accepts connections. Certificates are checked by NVFlare when a site starts."
            )
            return True
    except OSError as error:
        console.print(
            f"{server}: cannot be reached ({error}). Ask for an outgoing connection to this host and port "
            "in the firewall; a site needs no incoming port."
        )
        return False
