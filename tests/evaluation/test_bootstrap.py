import math

import numpy as np
import pytest

from medfed.evaluation import auroc, bootstrap_auroc, bootstrap_interval, summarise


def test_interval_of_a_constant_is_the_constant():
    assert bootstrap_interval([0.5] * 10) == (0.5, 0.5)
    low, high = bootstrap_interval([0.5] * 10, groups=list("aabbccddee"))
    assert (low, high) == (0.5, 0.5)


def test_interval_is_that_of_a_loop_over_resamples():
    rng = np.random.default_rng(0)
    values = rng.normal(size=200)
    found = bootstrap_interval(values, n=4000, seed=3)
    loop = [rng.choice(values, 200).mean() for _ in range(4000)]
    assert found == pytest.approx(np.percentile(loop, [2.5, 97.5]), abs=0.02)
    assert found == bootstrap_interval(values, n=4000, seed=3)
    assert found != bootstrap_interval(values, n=4000, seed=4)


def test_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    hits = 0
    for trial in range(200):
        low, high = bootstrap_interval(rng.normal(2.0, 1.0, 40), n=400, seed=trial)
        hits += low <= 2.0 <= high
    assert 0.88 <= hits / 200 <= 0.99


def test_whole_patients_are_drawn():
    """Ten copies of each value add nothing: the interval stays as wide as with one."""
    values = np.random.default_rng(2).normal(size=30)
    one = bootstrap_interval(values, n=4000)
    copied = bootstrap_interval(np.repeat(values, 10), n=4000, groups=np.repeat(np.arange(30), 10))
    naive = bootstrap_interval(np.repeat(values, 10), n=4000)
    assert copied == pytest.approx(one, abs=1e-9)
    assert naive[1] - naive[0] < 0.5 * (copied[1] - copied[0])


def test_absent_values():
    assert all(math.isnan(v) for v in bootstrap_interval([]))
    assert all(math.isnan(v) for v in bootstrap_interval([math.nan]))
    assert bootstrap_interval([1.0, math.nan, 1.0]) == (1, 1)
    low, high = bootstrap_interval([1.0] * 9 + [math.inf])
    assert low == 1
    assert high == math.inf


def test_another_statistic():
    values = np.append(np.zeros(50), 1000.0)
    assert bootstrap_interval(values, n=200, statistic=np.median) == (0, 0)


def matrix(cases=120, labels=3, seed=0):
    rng = np.random.default_rng(seed)
    targets = (rng.random((cases, labels)) < 0.4).astype(float)
    scores = np.round(rng.random((cases, labels)) + 0.3 * targets, 1)
    targets[rng.random(targets.shape) < 0.2] = math.nan
    return scores, targets, rng.integers(0, 40, cases)


def test_auroc_intervals_are_those_of_a_loop_over_patients(backend):
    scores, targets, patients = matrix()
    found = bootstrap_auroc(scores, targets, patients=patients, n=2000, seed=1)
    assert found.scores.macro == auroc(scores, targets).macro
    rng = np.random.default_rng(5)
    ids = np.unique(patients)
    loop = []
    for _ in range(400):
        rows = np.concatenate([np.flatnonzero(patients == i) for i in rng.choice(ids, ids.size)])
        loop.append(
            [
                *auroc(scores[rows], targets[rows]).per_label,
                auroc(scores[rows], targets[rows]).macro,
            ]
        )
    low, high = np.percentile(loop, [2.5, 97.5], axis=0)
    assert [*found.low, found.macro_low] == pytest.approx(low, abs=0.04)
    assert [*found.high, found.macro_high] == pytest.approx(high, abs=0.04)


def test_both_backends_give_the_same_bits(monkeypatch):
    scores, targets, patients = matrix(seed=3)
    found = []
    for name in ("numpy", "numba"):
        monkeypatch.setenv("MEDFED_EVALUATION_BACKEND", name)
        result = bootstrap_auroc(scores, targets, patients=patients, n=300, seed=2)
        found.append([*result.low, *result.high, result.macro_low, result.macro_high])
    assert found[0] == found[1]


def test_a_label_of_one_class_stays_undefined(backend):
    scores, targets, patients = matrix()
    targets[:, 1] = 0
    found = bootstrap_auroc(scores, targets, patients=patients, n=50, seed=0)
    assert math.isnan(found.low[1])
    assert found.undefined[1] == 50
    assert not math.isnan(found.macro_low)
    nothing = bootstrap_auroc(np.empty((0, 2)), np.empty((0, 2)), n=10, seed=0)
    assert np.isnan(nothing.low).all()
    assert math.isnan(nothing.macro_high)


def test_summary_by_hand():
    found = summarise([4.0, 1.0, math.nan, 3.0, 2.0])
    assert (found.n, found.defined, found.undefined, found.missed) == (5, 4, 1, 0)
    assert (found.mean, found.median, found.q1, found.q3) == (2.5, 2.5, 1.75, 3.25)
    assert (found.minimum, found.maximum) == (1, 4)
    assert found.std == pytest.approx(np.std([1, 2, 3, 4], ddof=1))


def test_a_miss_is_never_dropped():
    found = summarise([1.0, 2.0, math.inf], penalty=374)
    assert found.mean == math.inf
    assert found.maximum == math.inf
    assert found.missed == 1
    assert found.median == 2
    assert found.finite_mean == 1.5
    assert found.penalised_mean == pytest.approx(377 / 3)
    assert math.isnan(found.std)


def test_summary_of_nothing():
    for values in ([], [math.nan]):
        found = summarise(values)
        assert found.defined == 0
        assert math.isnan(found.mean)
        assert math.isnan(found.median)
