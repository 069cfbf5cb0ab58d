import json
import subprocess
import sys

import numpy as np
import pytest

from medfed import evaluation as ev

START = """
import sys, time
start = time.perf_counter()
import medfed.evaluation
took = time.perf_counter() - start
import json
heavy = ("torch", "monai", "nvflare", "numba", "scipy")
print(json.dumps({"took": took, "loaded": [m for m in heavy if m in sys.modules]}))
"""
USE = """
import sys, json, numpy as np
import medfed.evaluation as ev
a = np.zeros((9, 9), int); a[2:5, 2:5] = 1
ev.score_case(a, a); ev.instance_scores(a, a); ev.object_hausdorff(a, a); ev.auroc([0.1, 0.9], [0, 1])
print(json.dumps([m for m in ("torch", "monai", "nvflare") if m in sys.modules]))
"""
PEAK = """
import sys, numpy as np, tracemalloc
import medfed.evaluation as ev
side = int(sys.argv[1])
shape = (side, side, side)
pred, ref = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
edge = side // 8
ref[edge:-edge, edge:-edge, edge:-edge] = 1
pred[edge + 1 : -edge, edge + 2 : -edge, edge:-edge] = 1
small = (slice(0, 12),) * 3
ev.score_mask(pred[small] + 1, ref[small] + 1)
tracemalloc.start()
scores = ev.score_mask(pred, ref)
peak = tracemalloc.get_traced_memory()[1]
box = (side - 2 * edge) ** 3
surface = 6 * (side - 2 * edge) ** 2
print(peak, 2 * box, surface, scores.hd95)
"""


def run(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_importing_is_cheap_and_loads_nothing_heavy():
    found = [json.loads(run(START)) for _ in range(3)]
    assert min(f["took"] for f in found) < 0.3
    assert found[0]["loaded"] == []


def test_no_score_needs_torch():
    assert json.loads(run(USE)) == []


def test_every_public_name_is_there():
    for name in ev.__all__:
        assert getattr(ev, name) is not None
    assert dir(ev) == ev.__all__
    with pytest.raises(AttributeError):
        _ = ev.no_such_name


def test_working_memory_is_both_cropped_masks_and_their_surfaces():
    """numba's own arrays are traced by numpy's allocator too, so the peak holds all of them."""
    pytest.importorskip("numba")
    peak, masks, surface, hd95 = map(float, run(PEAK, "160").split())
    assert hd95 == 2
    assert (
        peak < 1.1 * masks + 2 * surface * 8 * 6
    )  # points: distances of both, sorted copies of them


@pytest.mark.parametrize("order", ["C", "F"])
def test_inputs_are_never_written(order):
    rng = np.random.default_rng(0)
    pred = np.array(rng.integers(0, 3, (9, 8, 7)), order=order)
    ref = np.array(rng.integers(0, 3, (9, 8, 7)), order=order)
    for array in (pred, ref):
        array.flags.writeable = False
    ev.score_case(pred, ref)
    ev.instance_scores(pred, ref)
    ev.object_hausdorff(pred, ref)
    ev.hd95(pred, ref, definition="deepmind")
