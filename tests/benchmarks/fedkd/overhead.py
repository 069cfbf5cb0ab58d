"""Seconds of `medfed run --env sim` over `--env local` for one tiny job, and bytes against the formula.

    OMP_NUM_THREADS=1 python tests/benchmarks/fedkd/overhead.py --repeats 2

Three sites, phantoms of 16 x 16 pixels, two epochs: nearly all of the time is the frame's own.
"""

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from medfed.algorithms.packing import packed_bytes

SITES = ("a", "b", "c")
CASES, PHANTOM_CLASSES, LEVELS = 200, 6, 256
JOB = """name = "overhead"
method = "fedkd"
task = "cxr14"
federation = { sites = ["a", "b", "c"] }
data = { benchmark = "benchmark" }
image = { size = 16 }
training = { epochs = 2, batch_size = 8 }
fedkd = { levels = 256 }
distillation = { epochs = 2, batch_size = 8 }
[networks]
student = { name = "small_cnn", args = { width = 8 } }
site = { name = "small_cnn", args = { width = 8 } }
"""


def phantoms(alias: str, first: int, count: int) -> str:
    """A dataset table of site.toml."""
    return (
        f'[datasets.{alias}]\nkind = "phantom_chest"\ncount = {count}\nfirst = {first}\nedge = 16\n'
    )


def prepare(folder: Path) -> None:
    """job.toml and sites/."""
    (folder / "sites").mkdir()
    (folder / "job.toml").write_text(JOB)
    shared = phantoms("public", 50_000, CASES) + phantoms("benchmark", 70_000, 60)
    shared += '[compute]\ndevice = "cpu"\n'
    (folder / "sites" / "server.toml").write_text(f'secret = "server"\n{shared}')
    for number, name in enumerate(SITES, start=1):
        own = (
            phantoms("train", 1000 * number, 40)
            + "[privacy]\nlabel_counts = true\nsmall_cell = 1\n"
        )
        (folder / "sites" / f"{name}.toml").write_text(f'secret = "{name}"\n{own}{shared}')


def seconds(folder: Path, env: str, number: int) -> float:
    """Wall seconds of one whole command."""
    command = [
        sys.executable,
        "-m",
        "medfed",
        "run",
        "job.toml",
        "--env",
        env,
        "--out",
        f"{env}-{number}",
    ]
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - start


def wire_table(run: Path) -> str:
    """Bytes up of each site's logits on the public set against the formula."""
    formula = packed_bytes(CASES, PHANTOM_CLASSES, LEVELS)
    lines = [
        f"Formula for {CASES} cases, {PHANTOM_CLASSES} classes, S = {LEVELS}: {formula} bytes.",
        "",
    ]
    lines += ["| site | direction | kind | phase | bytes | payload |", "|---|---|---|---|---|---|"]
    with (run / "wire.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["site"] == SITES[0]:
                cells = [
                    row[k] for k in ("site", "direction", "kind", "phase", "bytes", "payload_bytes")
                ]
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print both tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        print("| run | local, s | sim, s | sim - local, s |\n|---|---|---|---|")
        for number in range(repeats):
            local, sim = (seconds(folder, env, number) for env in ("local", "sim"))
            print(f"| {number + 1} | {local:.1f} | {sim:.1f} | {sim - local:.1f} |", flush=True)
        same = [
            (folder / f"{env}-0/student/model.safetensors").read_bytes() for env in ("local", "sim")
        ]
        print(f"\nThe student is the same in both: {same[0] == same[1]}.\n")
        print(wire_table(folder / "sim-0"))


if __name__ == "__main__":
    main()
