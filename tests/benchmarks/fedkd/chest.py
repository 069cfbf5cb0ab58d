"""FedKD on chest X-rays with two label vocabularies, through the whole library (`run_local`).

    MEDFED_DATA=... OMP_NUM_THREADS=1 python tests/benchmarks/fedkd/chest.py --out chest-runs

Three sites hold NIH ChestX-ray14 images, split by patient, and annotate the NIH's 12 of the job's 14
classes. A fourth holds PneumoniaMNIST images of children and annotates pneumonia alone. The benchmark is
NIH patients that no site has. The public set is PneumoniaMNIST's test part or other NIH patients.
"""

import argparse
import csv
import os
import time
from pathlib import Path

import numpy as np
import torch

from medfed.data import Site, Vocabulary, open_cases
from medfed.job import Job, validate_model
from medfed.report import RunFolder
from medfed.roles.run_local import run_local
from medfed.seeds import generator

NIH_SITES = ("nih-1", "nih-2", "nih-3")
SITES = (*NIH_SITES, "paediatric")
PUBLICS = ("pneumoniamnist", "nih")
IMAGES = 'images = ["images_128", "images_64"]\n'
NETWORK = {"name": "small_cnn", "args": {"width": 8, "depth": 4}}
POLICY = '\n[privacy]\nmethods = ["fedkd"]\nlabel_counts = true\nsmall_cell = 1\n\n[compute]\ndevice = "cpu"\n'


def job_of(public: str, seed: int) -> tuple[Job, str]:
    """The job and its text."""
    text = f"""schema = 1
name = "chest-{public}-{seed}"
method = "fedkd"
task = "cxr14"
seed = {seed}
[federation]
sites = [{", ".join(f'"{name}"' for name in SITES)}]
[data]
benchmark = "benchmark"
[image]
size = 48
[networks]
student = {{name = "small_cnn", args = {{width = 8, depth = 4}}}}
site = {{name = "small_cnn", args = {{width = 8, depth = 4}}}}
[training]
epochs = 20
patience = 6
[distillation]
epochs = 40
"""
    import tomllib

    return validate_model(Job, tomllib.loads(text), "chest"), text


def write_sites(folder: Path, data: Path, public: str, seed: int) -> None:
    """site.toml of every party; NIH patients are dealt out once by seed."""
    folder.mkdir(parents=True, exist_ok=True)
    nih = f'kind = "nih_cxr14"\nroot = "{data / "nih_cxr14"}"\n{IMAGES}'
    child = f'kind = "pneumonia_npz"\nroot = "{data / "pneumoniamnist"}"\n'
    whole = {"kind": "nih_cxr14", "root": data / "nih_cxr14", "images": ["images_128", "images_64"]}
    site = validate_model(Site, {"datasets": {"all": whole}}, "chest")
    cases = open_cases(site, "all", Vocabulary.load("cxr14"))
    patients, member = np.unique(np.asarray(cases.patients), return_inverse=True)
    owner = generator(seed, "chest", "patients").integers(0, 5, len(patients))
    for number, name in enumerate((*NIH_SITES, "public", "benchmark")):
        distinct = {
            cases.digest(int(i)): cases.names[i] for i in np.flatnonzero(owner[member] == number)
        }
        (folder / f"{name}.txt").write_text("\n".join(sorted(distinct.values())))
    for name, part, count in (("paediatric", "train", 600), ("child-public", "test", 624)):
        table = {"kind": "pneumonia_npz", "root": data / "pneumoniamnist", "split": part}
        site = validate_model(Site, {"datasets": {"all": table}}, "chest")
        cases = open_cases(site, "all", Vocabulary.load("cxr14"))
        distinct = {cases.digest(i): cases.names[i] for i in range(count)}
        (folder / f"{name}.txt").write_text("\n".join(sorted(distinct.values())))
    shared = f'\n[datasets.benchmark]\n{nih}cases = "benchmark.txt"\n\n[datasets.public]\n'
    shared += (
        f'{child}split = "test"\ncases = "child-public.txt"\n'
        if public == "pneumoniamnist"
        else f'{nih}cases = "public.txt"\n'
    )
    for name in SITES:
        own = f'[datasets.train]\n{child if name == "paediatric" else nih}cases = "{name}.txt"\n'
        (folder / f"{name}.toml").write_text(f'secret = "{name}"\n{own}{shared}{POLICY}')
    (folder / "server.toml").write_text(f'secret = "server"\n{shared}\n[compute]\ndevice = "cpu"\n')


def rows_of(path: Path) -> list[dict[str, str]]:
    """A CSV file of the run folder."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Run what is not there yet, and print the tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("chest-runs"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--publics", nargs="+", choices=PUBLICS, default=list(PUBLICS))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    data = Path(os.environ["MEDFED_DATA"]).resolve()
    for seed in asked.seeds:
        for public in asked.publics:
            job, text = job_of(public, seed)
            path = asked.out / job.name
            if not (path / "metrics.csv").exists():
                start = time.perf_counter()
                sites = asked.out / f"{job.name}-sites"
                write_sites(sites, data, public, seed)
                run_local(job, sites, RunFolder.create(path, text, resume=path.exists()))
                print(f"{job.name}: {time.perf_counter() - start:.0f} s", flush=True)
            show(path)


def show(path: Path) -> None:
    """The tables of one finished run."""
    from medfed.job import NetworkSpec
    from medfed.networks import build

    print(
        f"\n### {path.name}\n\n| model | mean AUROC | 95 % | AUROC Pneumonia | 95 % |\n|---|---|---|---|---|"
    )
    found = {(row["model"], row["class"]): row for row in rows_of(path / "metrics.csv")}
    for model in dict.fromkeys(model for model, _ in found):
        cells = [model]
        for name in ("mean", "Pneumonia"):
            row = found[model, name]
            value, low, high = (float(row[k]) for k in ("value", "low", "high"))
            cells += [f"{value:.3f}", f"{low:.3f} to {high:.3f}"]
        print(f"| {' | '.join(cells)} |")
    wire: dict[str, dict[str, int]] = {}
    for row in rows_of(path / "wire.csv"):
        site = wire.setdefault(row["site"], {"down": 0, "up": 0})
        site[row["direction"]] += int(row["bytes"])
    network = build(NetworkSpec(**NETWORK), in_channels=1, classes=14, seed=0)
    model = sum(p.numel() * 4 for p in network.state_dict().values())
    print(f"\nOne FedAvg round with this network: {model} bytes each way.")
    print("\n| site | bytes down | bytes up | up / one FedAvg round |\n|---|---|---|---|")
    for site, ways in sorted(wire.items()):
        print(f"| {site} | {ways['down']} | {ways['up']} | {ways['up'] / model:.2f} |")


if __name__ == "__main__":
    main()
