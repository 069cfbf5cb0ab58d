"""Server memory against the number of sites: peak of a gather of 4 and of 400 virtual sites.

    python tests/benchmarks/fedkd/sites.py

Each number of sites is run in a process of its own, since a process's peak never falls. The sites
answer with real, packed logits through the real envelope, wire codec and server role's gathering;
they do not train, so that what is measured is the server.
"""

import argparse
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

CASES, CLASSES, LEVELS, BOUND = 20_000, 14, 256, 8.0
COUNTS = (4, 40, 400)


class Virtual:
    """One site's end: an answer drawn by the site's number, nothing kept."""

    def __init__(self, number: int) -> None:
        self.number = number

    def handle(self, data: bytes) -> bytes:
        """Logits for whatever is asked."""
        from medfed.algorithms import packing
        from medfed.messages import LogitsUpload
        from medfed.wire import encode

        rng = np.random.default_rng(self.number)
        packed, encoding = packing.pack(rng.integers(0, LEVELS, (CASES, CLASSES)), levels=LEVELS)
        return encode(LogitsUpload(
            "public", CASES, LEVELS, BOUND, encoding, "none", np.ones(CLASSES, bool), packed,
            np.zeros(0, np.uint8),
        ))  # fmt: skip


def gather(count: int) -> tuple[float, float, float]:
    """MiB of this process before and at its peak, and seconds, for one gather."""
    import torch

    from medfed.messages import Opened, Predict
    from medfed.roles.channel import Envelope, Failure
    from medfed.roles.fedkd_gather import Gathering, site_logits
    from medfed.roles.local import LocalChannel

    torch.set_num_threads(1)
    names = [f"site-{n:03d}" for n in range(count)]
    envelope = Envelope(lambda row: None, lambda row: None)
    make: Callable[[str], Virtual] = lambda name: Virtual(int(name[-3:]))  # noqa: E731
    channel = LocalChannel(names, make, envelope)
    asked = Predict("run", "public", "public_bound", LEVELS, BOUND, False)
    numbers = np.full(CLASSES, 100, np.int64)
    opened = Opened("1", "1", "1", 100, numbers, numbers)
    gathering = Gathering.of(CASES, CLASSES)
    before, started = peak(), time.perf_counter()
    for site, answer in channel.ask(asked, names, phase="predict", deadline_s=None):
        if isinstance(answer, Failure):
            raise SystemExit(f"{site}: {answer.text}")
        logits = site_logits(answer, asked, site=site, cases=CASES, classes=CLASSES)
        gathering.add(logits, opened, answer.confidence)
    gathering.means()
    return before, peak(), time.perf_counter() - started


def peak() -> float:
    """MiB of the largest resident set so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the table, or one row of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    count = parser.parse_args().one
    if count is not None:
        before, after, seconds = gather(count)
        print(f"| {count} | {before:.0f} | {after:.0f} | {seconds:.1f} |")
        return
    print(f"{CASES} public cases, {CLASSES} classes, {LEVELS} levels; {platform.machine()}, ")
    print(f"Python {platform.python_version()}, numpy {np.__version__}, one thread.\n")
    print("| sites | MiB before | MiB at the peak | seconds |\n|---|---|---|---|", flush=True)
    for sites in COUNTS:
        subprocess.run([sys.executable, __file__, "--one", str(sites)], check=True)


if __name__ == "__main__":
    main()
