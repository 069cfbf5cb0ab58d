"""pyproject.toml names every package: a forgotten one is silently absent from the wheel."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_folder_with_an_init_is_packaged():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    mapped = {Path(folder): name for name, folder in config["package-dir"].items()}
    found = set()
    for folder, name in mapped.items():
        for init in (ROOT / folder).rglob("__init__.py"):
            parts = init.parent.relative_to(ROOT / folder).parts
            found.add(".".join([name, *parts]))
    assert found == set(config["packages"])


def test_data_files_of_packages_are_declared():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    mapped = config["package-dir"]
    missing = []
    for folder_name in set(mapped.values()):
        for file in (ROOT / folder_name).rglob("*"):
            if file.suffix not in {".toml", ".html", ".css", ".typed"}:
                continue
            package = ".".join(
                [_name(mapped, folder_name), *file.parent.relative_to(ROOT / folder_name).parts]
            )
            patterns = config["package-data"].get(package, [])
            if not any(file.match(pattern) for pattern in patterns):
                missing.append(str(file.relative_to(ROOT)))
    assert missing == []


def _name(mapped, folder):
    return next(name for name, value in mapped.items() if value == folder)
