"""The demo's four hospitals: site.toml files over real NIH images where there are some, else phantoms.

Patients are dealt out once, by seed: each hospital favours other findings, a public set and a labelled
benchmark have patients of their own.
"""

from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from medfed.data import Cases, Site, Vocabulary, open_cases
from medfed.data.cases import FilePixels
from medfed.job import Job, validate_model
from medfed.seeds import generator

__all__ = ["DEMO_JOB", "demo_job_text", "nih_folder", "write_demo_sites"]

DEMO_JOB = "demo.toml"
NIH = "nih_cxr14"
FOLDERS = ("images_128", "images_64")
PUBLIC, BENCHMARK = 0.30, 0.20  # shares of patients
FAVOUR = 0.55  # chance that a patient goes to the hospital that favours its rarest finding
PRIVACY = """
[privacy]
methods = ["fedkd"]
label_counts = true  # FedKD weighs sites by class; counts leave rounded
small_cell = 10
largest_bound = 10.0
"""


def demo_job_text() -> str:
    """The demo's job.toml."""
    return (files("medfed.nvflare_jobs") / DEMO_JOB).read_text(encoding="utf-8")


def nih_folder(data: Path | None) -> Path | None:
    """The folder of real NIH images below a data folder, or None."""
    if data is None:
        return None
    root = data / NIH
    found = root.is_dir() and any(root.glob("Data_Entry*.csv")) and (root / FOLDERS[0]).is_dir()
    return root if found else None


def write_demo_sites(folder: Path, job: Job, nih: Path | None) -> None:
    """Write `NAME.toml` for each hospital and `server.toml`.

    Args:
        folder: where to.
        job: the demo's job.
        nih: the folder of real NIH images; phantoms without.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if nih is None:
        _write_phantoms(folder, job)
    else:
        _write_nih(folder, job, nih.resolve())


def _write_phantoms(folder: Path, job: Job) -> None:
    favoured = ("Cardiomegaly", "Consolidation", "Nodule", "Mass")
    shared = _phantoms("public", 400, 500_000) + _phantoms("benchmark", 300, 700_000)
    for number, name in enumerate(sorted(job.federation.sites)):
        favours = favoured[number % len(favoured)]
        own = _phantoms("chest", 280, 10_000 * (number + 1), favours)
        _write(folder / f"{name}.toml", f'secret = "demo-{name}"\n', own + shared + PRIVACY)
    _write(folder / "server.toml", 'secret = "demo-server"\n', shared)


def _phantoms(alias: str, count: int, first: int, favours: str = "") -> str:
    more = f'favours = "{favours}"\n' if favours else ""
    return f'\n[datasets.{alias}]\nkind = "phantom_chest"\ncount = {count}\nfirst = {first}\n{more}'


def _write_nih(folder: Path, job: Job, nih: Path) -> None:
    vocabulary = Vocabulary.load(job.task)
    whole = {"kind": NIH, "root": nih, "images": list(FOLDERS)}
    cases = open_cases(
        validate_model(Site, {"datasets": {"all": whole}}, "demo"), "all", vocabulary
    )
    names = sorted(job.federation.sites)
    owner = _dealt(cases, len(names), job.seed)
    lists = {**dict(enumerate(names)), len(names): "public", len(names) + 1: "benchmark"}
    for number, name in lists.items():
        chosen = np.flatnonzero(owner == number)
        if number < len(names):
            _write_list(folder / f"{name}-patients.txt", {cases.patients[i] for i in chosen})
        else:
            _write_list(folder / f"{name}-cases.txt", _distinct_files(cases, chosen, nih))
    images = "images = " + str(list(FOLDERS)).replace("'", '"') + "\n"
    table = f'kind = "{NIH}"\nroot = "{nih}"\n{images}'
    # Hospitals see the shared images without a label; only the server's benchmark has the table.
    bare = f'kind = "image_folder"\nroot = "{nih}"\nfolders = {str(list(FOLDERS)).replace(chr(39), chr(34))}\n'
    public = f'\n[datasets.public]\n{bare}cases = "public-cases.txt"\n'
    benchmark = f'\n[datasets.benchmark]\n{bare}cases = "benchmark-cases.txt"\n'
    for name in names:
        own = f'\n[datasets.chest]\n{table}patients = "{name}-patients.txt"\n'
        _write(
            folder / f"{name}.toml", f'secret = "demo-{name}"\n', own + public + benchmark + PRIVACY
        )
    kept = {Path(line).name for line in (folder / "benchmark-cases.txt").read_text().splitlines()}
    _write_list(folder / "benchmark-names.txt", kept)
    labelled = f'\n[datasets.benchmark]\n{table}cases = "benchmark-names.txt"\n'
    _write(folder / "server.toml", 'secret = "demo-server"\n', public + labelled)


def _dealt(cases: Cases, sites: int, seed: int) -> np.ndarray:
    """(N,) the owner of each case: a site's number, then the public set, then the benchmark."""
    rng = generator(seed, "demo", "patients")
    patients, member = np.unique(np.asarray(cases.patients), return_inverse=True)
    positive = np.zeros((len(patients), cases.labels.shape[1]), bool)
    np.logical_or.at(positive, member, cases.labels == 1)
    frequency = np.where(positive.any(axis=0), positive.sum(axis=0), np.inf)
    owner = np.zeros(len(patients), np.int64)
    for p in range(len(patients)):
        draw = rng.random(3)
        if draw[0] < PUBLIC + BENCHMARK:
            owner[p] = sites + int(draw[0] >= PUBLIC)
            continue
        rarest = int(np.where(positive[p], frequency, np.inf).argmin()) if positive[p].any() else p
        owner[p] = rarest % sites if draw[1] < FAVOUR else int(draw[2] * sites)
    return owner[member]


def _distinct_files(cases: Cases, chosen: Sequence[int] | np.ndarray, root: Path) -> list[str]:
    """Paths below root, one for each distinct content: an image must not stand twice in a shared set."""
    if not isinstance(cases.pixels, FilePixels):
        raise TypeError("the demo's real images are files")
    found: dict[bytes, str] = {}
    for i in chosen:
        path = cases.pixels.paths[int(cases.rows[i])]
        found.setdefault(cases.digest(int(i)), path.relative_to(root).as_posix())
    return list(found.values())


def _write_list(path: Path, lines: Iterable[str]) -> None:
    path.write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")


def _write(path: Path, head: str, body: str) -> None:
    path.write_text(head + body, encoding="utf-8")
