"""An installed medfed puts one name into site-packages, and its command answers at once."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = shutil.ignore_patterns(
    ".venv", ".git", "runs", "build", "dist", "site", "*.egg-info", "__pycache__"
)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A wheel built from a copy of the checkout, installed into an empty folder."""
    folder = tmp_path_factory.mktemp("packaging")
    shutil.copytree(ROOT, folder / "source", ignore=LEFT_OUT)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    wheels = folder / "wheels"
    subprocess.run(
        [*pip, "wheel", "-q", "--no-deps", "-w", str(wheels), str(folder / "source")], check=True
    )
    (wheel,) = wheels.glob("medfed-*.whl")
    target = folder / "site-packages"
    subprocess.run(
        [*pip, "install", "-q", "--no-deps", "--target", str(target), str(wheel)], check=True
    )
    return target


def run(installed, *words):
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"}
    return subprocess.run(
        [sys.executable, *words],
        env=environment,
        cwd=installed,
        capture_output=True,
        text=True,
        check=False,
    )


def test_only_medfed_is_put_into_site_packages(installed):
    names = {path.name for path in installed.iterdir() if path.is_dir()} - {"bin", "__pycache__"}
    assert {name for name in names if not name.endswith(".dist-info")} == {"medfed"}


def test_the_rooms_of_the_checkout_are_inside(installed):
    words = "import medfed.transforms, medfed.evaluation, medfed.nvflare_jobs; print(medfed.transforms.__file__)"
    found = run(installed, "-c", words)
    assert found.returncode == 0, found.stderr
    assert Path(found.stdout.strip()).is_relative_to(installed)


def test_every_data_file_of_the_product_is_inside(installed):
    found = run(installed, "-m", "medfed", "list", "tasks")
    assert found.returncode == 0, found.stderr
    assert "cxr14" in found.stdout


def test_help_answers_in_under_a_second(installed):
    run(installed, "-m", "medfed", "--help")  # the first call writes bytecode
    started = time.perf_counter()
    found = run(installed, "-m", "medfed", "--help")
    assert found.returncode == 0
    assert time.perf_counter() - started < 1.0


def test_help_and_evaluation_import_nothing_heavy(installed):
    words = (
        "import sys, medfed.cli.main as m; m.main(['--help']); import medfed.evaluation; "
        "print([n for n in ('torch', 'monai', 'nvflare', 'matplotlib', 'numba') if n in sys.modules])"
    )
    assert run(installed, "-c", words).stdout.strip().endswith("[]")


def test_an_unknown_verb_is_refused_with_the_nearest(installed):
    found = run(installed, "-m", "medfed", "evalidate")
    assert found.returncode == 2
    assert "Did you mean 'validate'?" in found.stderr
