"""Types, layers and doctests on the tree as it ships.

A room that stands at the top of the checkout has no place of its own in the package there, so the
project is installed into an empty folder first and checked in it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
CHECKS = (
    ("mypy --strict", [str(BIN / "mypy"), "--strict", "-p", "medfed"]),
    ("import layers", [str(BIN / "lint-imports"), "--no-cache"]),
    (
        "doctests",
        [str(BIN / "pytest"), "-q", "--doctest-modules", "-c", os.devnull, "--rootdir", ".", "-p",
         "no:cacheprovider", "--ignore=medfed/flare", "--ignore=medfed/nvflare_jobs", "medfed"],
    ),
)  # fmt: skip


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        source, shipped = Path(folder) / "source", Path(folder) / "shipped"
        # A copy, so that setuptools leaves no build folder in the checkout.
        shutil.copytree(
            ROOT,
            source,
            ignore=shutil.ignore_patterns(".venv", ".git", "runs", "build", "*.egg-info", "site"),
        )
        install = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--target",
            str(shipped),
            str(source),
        ]
        subprocess.run(install, check=True)
        shutil.copy(ROOT / "pyproject.toml", shipped)
        failed = [name for name, command in CHECKS if not passes(name, command, shipped)]
    print(f"failed: {', '.join(failed)}" if failed else "the tree as shipped passes")
    return 1 if failed else 0


def passes(name: str, command: list[str], folder: Path) -> bool:
    print(f"== {name}", flush=True)
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
