"""FedKD on MNIST at a small scale: weighting rules, quantiser, noise, and the repair of disjoint classes.

    MEDFED_DATA=... OMP_NUM_THREADS=1 python tests/benchmarks/fedkd/digits.py --out digits.jsonl

Finished cells stand in the JSONL file and are not measured again. `--table` only prints the table.
The library's own functions do the weighing, quantising, noise, confidence and loss; sites' networks
train for a fixed number of epochs on tensors in memory. Axes: N cases, C = 10 classes, K sites.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from medfed.algorithms import confidence, fedkd, quantisation
from medfed.data import Vocabulary
from medfed.data.idx_images import Options, open_dataset
from medfed.job import NetworkSpec, NoiseParams
from medfed.networks import build
from medfed.seeds import derive, generator, torch_generator

CLASSES, BOUND = 10, 8.0
SPLITS = (
    "0.1",
    "0.3",
    "1.0",
    "disjoint",
)  # Dirichlet's alpha over 10 sites, or 5 sites of 2 classes
PUBLICS = {"cross": "fashion_mnist", "in": "mnist"}
NETWORK = NetworkSpec(name="mlp", args={"hidden": [128, 64], "size": 14})


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    private: int = 6_000
    public: int = 2_000
    test: int = 2_000
    site_epochs: int = 10
    student_epochs: int = 25


@dataclass(frozen=True)
class Cell:
    """One ensemble and its student."""

    split: str
    seed: int
    public: str
    rule: str = "positives"
    levels: int = 0
    noise: float = 0.0
    confidence: str = "none"
    calibrate: bool = False
    bound: float = BOUND


@dataclass(frozen=True)
class Asked:
    """A site's answers, (N, C) or (N, C + 1) with an outlier logit, and its counts (C,)."""

    public: Tensor
    test: Tensor
    counts: Tensor
    temperature: float


def cells(split: str, seed: int) -> Iterator[Cell]:
    """What is measured on one split."""
    for public in PUBLICS:
        base = Cell(split, seed, public)
        for rule in ("positives", "samples", "uniform"):
            yield replace(base, rule=rule)
        if split == "disjoint":
            yield replace(base, calibrate=True)
            yield replace(base, bound=1000.0)  # nothing is clipped
            yield replace(base, confidence="entropy")
            yield replace(base, confidence="entropy", rule="uniform")
            yield replace(base, confidence="outlier_weight")  # a weight alone, logits as they are
            yield replace(base, confidence="outlier")
            yield replace(base, confidence="outlier_relative")  # relative, not standardised
        if split == "0.1" and public == "cross":
            yield replace(base, confidence="outlier")
            yield from (replace(base, levels=levels) for levels in (8, 16, 100))
            yield from (replace(base, noise=scale) for scale in (1.0, 5.0))


@cache
def images(folder: str, part: str) -> tuple[Tensor, Tensor]:
    """(N, 1, 28, 28) in [-1, 1] and class numbers (N,)."""
    options = Options(images=f"{part}-images-idx3-ubyte", labels=f"{part}-labels-idx1-ubyte")
    root = Path(os.environ["MEDFED_DATA"]) / folder
    cases = open_dataset(root, options, Vocabulary.load("digits10"))
    chosen = generator(0, folder, part).permutation(len(cases))[:10_000]
    pixels = np.stack([cases.read(int(i)) for i in chosen])
    labels = torch.from_numpy(cases.labels[chosen].argmax(1))
    return torch.from_numpy(pixels).float()[:, None] * 2 - 1, labels


def dealt(labels: Tensor, split: str, seed: int) -> list[Tensor]:
    """Index tensors of the sites; drawn again until every site has 20 cases."""
    random = generator(seed, "split", split)
    numbers = labels.numpy()
    if split == "disjoint":
        pairs = random.permutation(CLASSES).reshape(5, 2)
        return [torch.from_numpy(np.flatnonzero(np.isin(numbers, pair))) for pair in pairs]
    while True:
        site = np.zeros(len(numbers), np.int64)
        for c in range(CLASSES):
            own = random.permutation(np.flatnonzero(numbers == c))
            edges = np.cumsum(random.dirichlet([float(split)] * 10))[:-1] * len(own)
            site[own] = np.searchsorted(edges, np.arange(len(own)), side="right")
        if np.bincount(site, minlength=10).min() >= 20:
            return [torch.from_numpy(np.flatnonzero(site == k)) for k in range(10)]


@torch.enable_grad()
def fitted(x: Tensor, y: Tensor, *, outputs: int, epochs: int, batch: int, seed: int) -> nn.Module:
    """A network fitted to class numbers (N,) by cross-entropy, or to logits (N, C) by FedKD's L2."""
    network = build(NETWORK, in_channels=1, classes=outputs, seed=derive(seed, "init"))
    optimiser = torch.optim.Adam(network.parameters(), 3e-3 if y.ndim == 2 else 1e-3, fused=True)
    order, known = torch_generator(derive(seed, "order")), torch.ones(CLASSES, dtype=torch.bool)
    for _ in range(epochs):
        for i in torch.randperm(len(x), generator=order).split(batch):
            optimiser.zero_grad()
            z = network(x[i])
            if y.ndim == 1:
                loss = functional.cross_entropy(z, y[i])
            else:
                loss = fedkd.distillation_loss(
                    z, y[i], loss="l2", temperature=1.0, known=known, kind="single_label"
                )
            loss.backward()
            optimiser.step()
    return network.eval()


class Study:
    """One split and seed: its sites' answers are worked out once and serve all its cells."""

    def __init__(self, split: str, seed: int, scale: Scale) -> None:
        self.split, self.seed, self.scale = split, seed, scale
        x, y = images("mnist", "train")
        chosen = torch.from_numpy(generator(seed, "cases").permutation(len(x)))
        private, rest = chosen[: scale.private], chosen[scale.private :][: scale.public]
        self.x, self.y = x[private], y[private]
        self.publics = {"in": x[rest], "cross": images("fashion_mnist", "train")[0][: scale.public]}
        self.test, self.labels = (t[: scale.test] for t in images("mnist", "t10k"))
        self.sites = dealt(self.y, split, seed)
        self.asked, self.trained = cache(self._asked), cache(self._trained)

    @torch.no_grad()
    def accuracy(self, logits: Tensor) -> float:
        """In percent, of (M, C) logits on the test images; NaN never wins."""
        return 100 * float((logits.nan_to_num(-1e9).argmax(1) == self.labels).float().mean())

    def alone(self) -> float:
        """Mean accuracy of the sites' own networks."""
        return float(np.mean([self.accuracy(a.test) for a in self.asked("cross", False)]))

    @torch.no_grad()
    def _asked(self, public: str, outlier: bool) -> list[Asked]:
        found = [self.trained(k, public if outlier else "") for k in range(len(self.sites))]
        x = self.publics[public]
        return [Asked(net(x), net(self.test), counts, heat) for net, counts, heat in found]

    def _trained(self, k: int, public: str) -> tuple[nn.Module, Tensor, float]:
        """Site k's network, its counts and temperature; with an outlier logit where `public` is named."""
        own = self.sites[k]
        seed = derive(self.seed, "site", str(k))
        own = own[torch.randperm(len(own), generator=torch_generator(seed))]
        held, train = own[: len(own) // 5], own[len(own) // 5 :]
        x, y = self.x[train], self.y[train]
        if public:
            extra = self.publics[public]
            extra = extra[torch.randperm(len(extra), generator=torch_generator(seed))[: len(x)]]
            x, y = torch.cat([x, extra]), torch.cat([y, torch.full((len(extra),), CLASSES)])
        network = fitted(
            x, y, outputs=CLASSES + bool(public), epochs=self.scale.site_epochs, batch=32, seed=seed
        )
        with torch.no_grad():
            on_held = network(self.x[held])[:, :CLASSES]
        truth = functional.one_hot(self.y[held], CLASSES)
        heat = confidence.fit_temperature(on_held, truth, "single_label")
        return network, torch.bincount(self.y[train], minlength=CLASSES).double(), heat

    def ensemble(self, cell: Cell, which: str) -> Tensor:
        """(N, C) of the public set, with quantiser and noise, or (M, C) of the test images, without."""
        every = torch.ones(CLASSES, dtype=torch.bool)
        outlier = cell.confidence.startswith("outlier")
        answers = self.asked(cell.public, outlier)
        total = fedkd.EnsembleSum(len(getattr(answers[0], which)), CLASSES)
        for answer in answers:
            whole = getattr(answer, which) / (answer.temperature if cell.calibrate else 1.0)
            z, trust = whole[:, :CLASSES], None
            if cell.confidence == "entropy":
                trust = confidence.entropy_confidence(z, every, "single_label")
            elif outlier:
                trust = confidence.outlier_confidence(whole[:, CLASSES], z)
                if cell.confidence == "outlier":
                    seen = answer.public / (answer.temperature if cell.calibrate else 1.0)
                    shared = seen[:, :CLASSES] - seen[:, CLASSES:]
                    z = confidence.against_outlier(
                        z, whole[:, CLASSES], public=shared, bound=cell.bound
                    )
                elif cell.confidence == "outlier_relative":
                    z = z - whole[:, CLASSES:]
            z = z.clamp(-cell.bound, cell.bound)
            if cell.levels and which == "public":
                index = quantisation.quantise(
                    z, levels=cell.levels, bound=cell.bound, mode="public_bound"
                )
                z = quantisation.dequantise(index, levels=cell.levels, bound=cell.bound)
            weights = {
                "positives": answer.counts, "uniform": torch.ones_like(answer.counts),
                "samples": answer.counts.sum().expand(CLASSES),
            }[cell.rule]  # fmt: skip
            total.add(z, weights=weights, labelled=every, confidence=trust)
        mean = total.mean()
        if cell.noise and which == "public":
            noise = NoiseParams(mechanism="laplace", scale=cell.noise, where="aggregate")
            mean = fedkd.add_noise(mean, noise, torch_generator(derive(self.seed, "noise")))
        return mean

    def measured(self, cell: Cell) -> dict[str, float]:
        """Accuracies of a cell's ensemble and student."""
        student = fitted(
            self.publics[cell.public], self.ensemble(cell, "public"), outputs=CLASSES,
            epochs=self.scale.student_epochs, batch=128, seed=derive(self.seed, "student"),
        )  # fmt: skip
        with torch.no_grad():
            found = self.accuracy(student(self.test))
        return {
            "alone": self.alone(), "ensemble": self.accuracy(self.ensemble(cell, "test")), "student": found,
        }  # fmt: skip


def table(rows: list[dict[str, object]]) -> str:
    """Mean and standard deviation over the seeds, in Markdown."""
    groups: dict[tuple[object, ...], list[dict[str, object]]] = {}
    for row in rows:
        groups.setdefault(tuple(v for k, v in row["cell"].items() if k != "seed"), []).append(row)
    lines = [
        "| split | public | rule | S | noise b | confidence | calibrated | B | alone | ensemble | student | seeds |"
    ]
    lines.append("|" + "---|" * 12)
    for key, found in sorted(groups.items(), key=str):
        split, public, rule, levels, noise, trust, calibrated, bound = key
        shown = [
            f"{np.mean(v):.1f} ± {np.std(v, ddof=1) if len(v) > 1 else float('nan'):.1f}"
            for v in ([row[name] for row in found] for name in ("alone", "ensemble", "student"))
        ]
        lines.append(
            f"| {split} | {public} | {rule} | {levels or 'none'} | {noise:g} | {trust} | "
            f"{'yes' if calibrated else 'no'} | {bound:g} | {' | '.join(shown)} | {len(found)} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("digits.jsonl"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--splits", nargs="+", choices=SPLITS, default=list(SPLITS))
    parser.add_argument("--only", default="", help="measure cells whose JSON holds this text")
    parser.add_argument("--small", action="store_true", help="a tenth of everything: does it run?")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rows = (
        [json.loads(line) for line in asked.out.read_text().splitlines()]
        if asked.out.exists()
        else []
    )
    done = {json.dumps(row["cell"]) for row in rows}
    for seed in [] if asked.table else asked.seeds:
        for split in asked.splits:
            todo = [
                c
                for c in cells(split, seed)
                if (t := json.dumps(asdict(c))) not in done and asked.only in t
            ]
            if not todo:
                continue
            study = Study(split, seed, Scale(1_500, 400, 400, 3, 5) if asked.small else Scale())
            for cell in todo:
                start = time.perf_counter()
                row = {"cell": asdict(cell), **study.measured(cell)}
                row["seconds"] = time.perf_counter() - start
                rows.append(row)
                with asked.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
