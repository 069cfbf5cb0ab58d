"""Speed of FedKD's quantiser and packing on one thread, in MB/s of float32 logits.

    OMP_NUM_THREADS=1 python tests/benchmarks/fedkd/packing.py

Two shapes: one site's message (26,684 cases, 14 classes, 1.5 MB) and 67 of them in a row (100 MB).
Two kinds of logits: `crowded` (normal, deviation 2), which Huffman coding shortens, and `uniform`
over the levels, where the plain bits mostly go out. Each figure is the best of some runs, in seconds
of processor time, so that other work on the machine does not count; the wall clock says the same on an
idle one.
"""

import time
from collections.abc import Callable

import numpy as np
import torch

from medfed.algorithms.packing import pack, packed_bytes, unpack
from medfed.algorithms.quantisation import dequantise, quantise

CASES, CLASSES, REPEAT, BOUND = 26_684, 14, 67, 8.0


def best(work: Callable[[], object], runs: int) -> float:
    """Processor seconds of the fastest run; the first run compiles or loads the loops."""
    seconds = []
    for _ in range(runs):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def row(kind: str, logits: torch.Tensor, levels: int) -> str:
    """One line of the table."""
    cases, megabytes = len(logits), logits.numel() * 4 / 1e6
    runs = 20 if megabytes < 10 else 4

    def there() -> tuple[np.ndarray, str]:
        indices = quantise(logits, levels=levels, bound=BOUND, mode="public_bound")
        return pack(indices.numpy(), levels=levels)

    packed, encoding = there()

    def back() -> torch.Tensor:
        indices = unpack(packed, encoding, cases=cases, classes=CLASSES, levels=levels)
        return dequantise(torch.from_numpy(indices), levels=levels, bound=BOUND)

    share = packed.size / packed_bytes(cases, CLASSES, levels)
    ahead, behind = (megabytes / best(work, runs) for work in (there, back))
    return (
        f"| {megabytes:.1f} | {kind} | {levels} | {encoding} | {share:.2f} | "
        f"{ahead:.0f} | {behind:.0f} |"
    )


def main() -> None:
    """Prints the table in Markdown."""
    torch.set_num_threads(1)
    seeded = torch.Generator().manual_seed(0)
    crowded = 2 * torch.randn(CASES, CLASSES, generator=seeded)
    uniform = BOUND * (2 * torch.rand(CASES, CLASSES, generator=seeded) - 1)
    print("| MB | logits | S | encoding | bytes / bits | quantise + pack | unpack + dequantise |")
    print("|---|---|---|---|---|---|---|")
    for repeat in (1, REPEAT):
        for kind, logits in (("crowded", crowded), ("uniform", uniform)):
            for levels in (8, 16, 100, 256):
                print(row(kind, logits.repeat(repeat, 1), levels), flush=True)


if __name__ == "__main__":
    main()
