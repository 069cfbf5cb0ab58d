import copy
import math
import pickle

import brute_force as brute
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medfed.evaluation import (
    auprc,
    auroc,
    brier,
    calibration_error,
    pr_curve,
    reliability_curve,
    roc_curve,
    sensitivity_at_specificity,
)

NAN = math.nan
cases = st.lists(st.tuples(st.integers(0, 6), st.sampled_from([0, 1])), min_size=1, max_size=30)


def test_auroc_by_hand():
    assert auroc([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]).macro == 0.75  # 3 of 4 pairs
    assert auroc([0.5, 0.5], [0, 1]).macro == 0.5  # a tie counts half
    assert auroc([0.2, 0.5, 0.5, 0.9], [0, 0, 1, 1]) == pytest.approx(3.5 / 4)


def test_a_result_is_its_macro_mean_and_names_its_parts():
    found = auroc([[0.1, 0.9, 0.3], [0.8, 0.2, 0.4]], [[0, 0, 1], [1, 1, 1]])
    assert found.per_label[:2].tolist() == [1, 0]
    assert math.isnan(found.per_label[2])
    assert found.macro == float(found) == 0.5
    assert found.undefined == 1
    assert found.positives.tolist() == [1, 1, 2]
    assert found.negatives.tolist() == [1, 1, 0]
    for twin in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert twin == found
        assert twin.positives.tolist() == [1, 1, 2]


def test_what_is_not_labelled_is_left_out_and_counted():
    found = auroc([0.1, 0.9, 0.5, NAN], [0, 1, NAN, NAN])
    assert found.macro == 1
    assert found.unlabelled.tolist() == [2]


def test_uncertain_labels_follow_the_policy():
    scores, targets = [0.1, 0.9, 0.95], [0, 1, -1]
    assert auroc(scores, targets).macro == 1
    assert auroc(scores, targets, uncertain="zeros").macro == 0.5
    assert auroc(scores, targets, uncertain="ones").macro == 1
    assert auroc(scores, targets).uncertain.tolist() == [1]
    assert auroc([0.1, 0.9, NAN], targets).macro == 1  # ignored, so it needs no score


@given(cases)
def test_auroc_against_pairs(rows):
    scores, targets = zip(*rows, strict=True)
    assert auroc(scores, targets).macro == pytest.approx(brute.auroc(scores, targets), nan_ok=True)


@given(cases)
def test_auroc_depends_on_order_alone_and_mirrors(rows):
    scores, targets = np.array(rows, float).T
    value = auroc(scores, targets).macro
    np.testing.assert_equal(auroc(np.exp(scores) * 3, targets).macro, value)
    assert auroc(-scores, targets).macro == pytest.approx(1 - value, nan_ok=True)
    assert auroc(scores, 1 - targets).macro == pytest.approx(1 - value, nan_ok=True)


def test_average_precision_by_hand():
    # ranks 1 + 2 - 3 + : precision 1 at recall 1/2, 2/3 at recall 1
    found = auprc([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    assert found.macro == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)
    # corners (0,1) (.5,1) (.5,.5) (1,2/3) (1,.5)
    lines = auprc([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], definition="trapezoid")
    assert lines.macro == pytest.approx(0.5 * 1 + 0.5 * (0.5 + 2 / 3) / 2)
    assert math.isnan(auprc([0.1, 0.2], [1, 1]).macro)
    assert math.isnan(auprc([0.1, 0.2], [0, 0]).macro)


def test_sensitivity_at_specificity_by_hand():
    scores, targets = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4], [1, 0, 1, 1, 0, 0]
    assert sensitivity_at_specificity(scores, targets, specificity=1.0).macro == pytest.approx(
        1 / 3
    )
    found = sensitivity_at_specificity(scores, targets, specificity=2 / 3)
    assert found.macro == 1
    assert found.thresholds.tolist() == [0.6]
    assert sensitivity_at_specificity([0.1, 0.9], [1, 0], specificity=0.9).macro == 0
    assert sensitivity_at_specificity([0.1, 0.9], [1, 0], specificity=0.9).thresholds.tolist() == [
        math.inf
    ]
    assert math.isnan(sensitivity_at_specificity([0.1], [1]).macro)


def test_brier_and_calibration_by_hand():
    scores, targets = [0.9, 0.7, 0.2, 0.2], [1, 0, 0, 1]
    assert brier(scores, targets).macro == pytest.approx((0.01 + 0.49 + 0.04 + 0.64) / 4)
    # two bins: {.2 .2} observed .5, gap .3; {.9 .7} observed .5, gap .3
    assert calibration_error(scores, targets, bins=2).macro == pytest.approx(0.3)
    assert calibration_error(
        [0.9, 0.2, 0.2], [1, 0, 1], bins=2, norm="largest"
    ).macro == pytest.approx(0.3)
    assert calibration_error([0.9, 0.2, 0.2], [1, 0, 1], bins=2).macro == pytest.approx(
        0.1 / 3 + 0.3 * 2 / 3
    )
    rms = calibration_error([0.9, 0.2, 0.2], [1, 0, 1], bins=2, norm="root_mean_square").macro
    assert rms == pytest.approx(math.sqrt(0.01 / 3 + 0.09 * 2 / 3))
    diagram = reliability_curve([0.0, 0.5, 1.0], [0, 1, 1], bins=2)
    assert diagram.cases.tolist() == [1, 2]
    assert diagram.observed.tolist() == [0, 1]
    assert math.isnan(brier([NAN], [NAN]).macro)
    assert math.isnan(calibration_error([NAN], [NAN]).macro)


def test_curves_by_hand():
    roc = roc_curve([0.9, 0.8, 0.8, 0.1], [1, 1, 0, 0])
    assert list(zip(roc.x, roc.y, strict=True)) == [(0, 0), (0, 0.5), (0.5, 1), (1, 1)]
    assert roc.thresholds.tolist() == [math.inf, 0.9, 0.8, 0.1]
    pr = pr_curve([0.9, 0.8, 0.8, 0.1], [1, 1, 0, 0])
    assert pr.x.tolist() == [0, 0.5, 1, 1]
    assert pr.y.tolist() == pytest.approx([1, 1, 2 / 3, 0.5])


@settings(deadline=None)
@given(cases)
def test_curves_hold_the_area(rows):
    scores, targets = np.array(rows, float).T
    if 0 < targets.sum() < len(targets):
        roc = roc_curve(scores, targets)
        assert np.trapezoid(roc.y, roc.x) == pytest.approx(auroc(scores, targets).macro)


def test_agreement_with_sklearn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores, targets = rng.integers(0, 20, 60) / 20, rng.integers(0, 2, 60)
        assert auroc(scores, targets).macro == pytest.approx(metrics.roc_auc_score(targets, scores))
        assert auprc(scores, targets).macro == pytest.approx(
            metrics.average_precision_score(targets, scores)
        )
        assert brier(scores, targets).macro == pytest.approx(
            metrics.brier_score_loss(targets, scores)
        )


def test_agreement_with_torchmetrics():
    torch = pytest.importorskip("torch")
    functional = pytest.importorskip("torchmetrics.functional.classification")
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores, targets = rng.random(80), rng.integers(0, 2, 80)
        ts, tt = torch.tensor(scores), torch.tensor(targets)
        assert auroc(scores, targets).macro == pytest.approx(float(functional.binary_auroc(ts, tt)))
        for norm, name in (("mean", "l1"), ("root_mean_square", "l2"), ("largest", "max")):
            theirs = float(functional.binary_calibration_error(ts, tt, n_bins=10, norm=name))
            assert calibration_error(scores, targets, bins=10, norm=norm).macro == pytest.approx(
                theirs, abs=1e-5
            )
        theirs = float(functional.binary_sensitivity_at_specificity(ts, tt, 0.8)[0])
        assert sensitivity_at_specificity(scores, targets, specificity=0.8).macro == pytest.approx(
            theirs
        )
