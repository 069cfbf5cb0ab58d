"""How fast the scores are, beside the tools in use: `python tests/benchmarks/evaluation/speed.py`.

Every tool sees the same arrays in the same process, on one thread. A figure is the median of processor
time after one call that is not counted; what has to be equal is compared first. Peers that are not
installed are named as missing. `--out FILE` writes the tables as markdown.
"""

# ruff: noqa: E402 (numerical libraries read the number of threads when they are loaded)
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import datetime
import platform
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import inputs
import peers

from medfed import evaluation as ev

SLOW_S = 1.0  # a peer slower than this is measured three times, others seven times


def measured_ms(call: Callable[[], object], least: int = 7) -> float:
    """Median processor time of a call, in milliseconds."""
    call()
    times: list[float] = []
    while len(times) < (3 if times and times[0] > SLOW_S else least):
        start = time.thread_time()
        call()
        times.append(time.thread_time() - start)
    return 1e3 * statistics.median(times)


def hd95_table(seed: int) -> list[str]:
    """HD95 of one volume, by mask and tool."""
    tools, missing = peers.hd95_peers()
    lines = [
        "| mask | ours | one pass, all scores | "
        + " | ".join(tools)
        + " | MONAI / ours | best peer / ours |",
        "|---" * (len(tools) + 5) + "|",
    ]
    for name, (pred, ref, spacing) in inputs.tumours(seed).items():
        for score, definition in tools.values():
            if definition:
                mine = ev.hd95(pred, ref, spacing_mm=spacing, definition=definition)
                agree(mine, score(pred, ref, spacing), name, definition)
        own = measured_ms(lambda: ev.hd95(pred, ref, spacing_mm=spacing), 15)
        whole = measured_ms(lambda: ev.score_mask(pred, ref, spacing_mm=spacing), 15)
        theirs = {n: measured_ms(lambda: s(pred, ref, spacing)) for n, (s, _) in tools.items()}
        lines.append(
            f"| {name} | {own:.1f} | {whole:.1f} ({whole / own:.2f}x) | "
            + " | ".join(f"{ms:.0f}" for ms in theirs.values())
            + f" | {theirs.get('MONAI', np.nan) / own:.0f} | {min(theirs.values(), default=np.nan) / own:.1f} |"
        )
    return ["## HD95 of 240 x 240 x 155, milliseconds", "", *lines, "", *_missing(missing)]


def slice_table(seed: int) -> list[str]:
    """HD95 of many small images."""
    tools, missing = peers.hd95_peers()
    pairs = inputs.slices(1000, seed)
    flat = (1.0, 1.0)
    own = measured_ms(lambda: [ev.hd95(p, r) for p, r in pairs], 3)
    lines = ["| tool | ms for 1,000 | tool / ours |", "|---|---|---|", f"| ours | {own:.0f} | 1 |"]
    for name, (score, _) in tools.items():
        some = pairs[:: 1 if name == "surface-distance" else 5]
        try:
            ms = (
                measured_ms(lambda: [score(p, r, flat) for p, r in some], 3)
                * len(pairs)
                / len(some)
            )
        except (ValueError, RuntimeError) as error:
            missing.append(f"{name} on images ({error})")
            continue
        lines.append(f"| {name} | {ms:.0f} | {ms / own:.0f} |")
    return ["## HD95 of 1,000 images of 256 x 256", "", *lines, "", *_missing(missing)]


def instance_table(seed: int) -> list[str]:
    """Instance scores of one image."""
    tools, missing = peers.instance_peers()
    pred, ref = inputs.nuclei(1000, 1000, seed)
    found = ev.instance_scores(pred, ref)
    own = measured_ms(lambda: ev.instance_scores(pred, ref), 15)
    lines = [
        "| what | ms | / ours |",
        "|---|---|---|",
        f"| ours: four AJI, PQ, two object Dice | {own:.1f} | 1 |",
    ]
    distances = {
        "ours: object Hausdorff": ev.object_hausdorff,
        "ours: matched means": ev.matched_object_scores,
    }
    for name, score in distances.items():
        lines.append(f"| {name} | {measured_ms(lambda: score(pred, ref)):.0f} | |")
    for name, (score, field) in tools.items():
        if field:
            lenient = ev.panoptic_quality(pred, ref, at_threshold=True)  # panoptica's rule
            mine = lenient.pq if name.startswith("panoptica") else getattr(found, field)
            agree(mine, score(pred, ref), "nuclei", name)
        ms = measured_ms(lambda: score(pred, ref), 3)
        lines.append(f"| {name} | {ms:.0f} | {ms / own:.0f} |")
    for size in (2000, 4000):
        bigger = inputs.nuclei(1000 * (size // 1000) ** 2, size, seed)
        lines.append(
            f"| ours, {size} x {size} | {measured_ms(lambda: ev.instance_scores(*bigger), 3):.0f} | |"
        )
    return ["## Instances, 1000 x 1000, about 1,000 nuclei", "", *lines, "", *_missing(missing)]


def start_table() -> list[str]:
    """What a process pays before its first score, with and without kept compilations."""
    code = (
        "import time; t = time.perf_counter(); import medfed.evaluation as ev; a = time.perf_counter() - t;"
        "import numpy as np; m = np.zeros((40, 40, 40), bool); m[9:20, 9:20, 9:20] = 1;"
        "t = time.perf_counter(); ev.score_mask(m, m); b = time.perf_counter() - t;"
        "t = time.perf_counter(); ev.instance_scores(m[9], m[9]); print(a, b, time.perf_counter() - t)"
    )
    lines = [
        "| process | import s | first surface scores s | first instance scores s |",
        "|---|---|---|---|",
    ]
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for name, extra in (
            ("first on a machine (compiles)", {"NUMBA_CACHE_DIR": folder}),
            ("later ones", {"NUMBA_CACHE_DIR": folder}),
            ("numpy backend", {"MEDFED_EVALUATION_BACKEND": "numpy"}),
        ):
            done = subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, **extra},
                capture_output=True,
                text=True,
                check=True,
            )
            lines.append(
                f"| {name} | " + " | ".join(f"{float(v):.2f}" for v in done.stdout.split()) + " |"
            )
    return ["## Start, wall seconds", "", *lines, ""]


def memory_table() -> list[str]:
    """Working memory of a 2 GiB pair, in a process of its own."""
    code = (
        "import tracemalloc, time, numpy as np, medfed.evaluation as ev;"
        "ev.score_mask(np.ones((9, 9, 9), np.uint8), np.ones((9, 9, 9), np.uint8));"
        "n = 1024; p, r = np.zeros((n, n, n), np.uint8), np.zeros((n, n, n), np.uint8);"
        "r[200:800, 200:800, 200:800] = 1; p[203:805, 200:800, 200:800] = 1;"
        "tracemalloc.start(); t = time.thread_time(); s = ev.score_mask(p, r); t = time.thread_time() - t;"
        "peak = tracemalloc.get_traced_memory()[1]; box = 605 * 600 * 600;"
        "print(2 * n**3 / 2**20, 2 * box / 2**20, peak / 2**20, t, s.hd95)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    masks, cropped, peak, seconds, hd95 = map(float, done.stdout.split())
    return [
        "## Memory: two masks of 1024^3 bytes (2 GiB), objects of 600^3", "",
        "| masks MiB | cropped masks MiB | peak working MiB | peak / cropped | s | HD95 |", "|---|---|---|---|---|---|",
        f"| {masks:.0f} | {cropped:.0f} | {peak:.0f} | {peak / cropped:.2f} | {seconds:.1f} | {hd95:g} |", "",
    ]  # fmt: skip


def agree(ours: float, theirs: float, case: str, name: str) -> None:
    """Stops where two tools that share a definition differ."""
    if not np.isclose(ours, theirs, rtol=1e-6, atol=2e-6):
        raise SystemExit(f"{case}: {name} gives {theirs}, ours {ours}")


def _missing(names: list[str]) -> list[str]:
    return [f"Not installed or failing: {', '.join(names)}.", ""] if names else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a markdown file for the tables")
    parser.add_argument(
        "--only", nargs="*", default=["hd95", "slices", "instances", "start", "memory"]
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = {
        "hd95": lambda: hd95_table(options.seed), "slices": lambda: slice_table(options.seed),
        "instances": lambda: instance_table(options.seed), "start": start_table, "memory": memory_table,
    }  # fmt: skip
    command = f"python tests/benchmarks/evaluation/speed.py --seed {options.seed}"
    lines = [
        "# Speed of medfed.evaluation beside the tools in use", "",
        f"{datetime.datetime.now(tz=datetime.UTC).date()}, `{command}`, {_machine()}.", "",
        "Median processor time of one thread, every tool on the same arrays in one process.", "",
    ]  # fmt: skip
    for name in options.only:
        part = tables[name]()
        print("\n".join(part), flush=True)
        lines += part
    if options.out:
        options.out.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def _machine() -> str:
    import importlib.metadata as metadata

    names = (
        "numpy",
        "scipy",
        "numba",
        "monai",
        "medpy",
        "panoptica",
        "seg-metrics",
        "torchmetrics",
        "cellpose",
    )
    versions = []
    for name in names:
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    cpu = "unknown processor"
    if Path("/proc/cpuinfo").exists():
        found = [
            line
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ]
        cpu = found[0].partition(":")[2].strip() if found else cpu
    python = f"Python {platform.python_version()}"
    return ", ".join([cpu, f"{os.cpu_count()} cores", platform.system(), python, *versions])


if __name__ == "__main__":
    main()
