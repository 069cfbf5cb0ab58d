import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from medfed.algorithms.confidence import against_outlier
from medfed.algorithms.fedkd import entropy_confidence, fit_temperature, outlier_confidence
from medfed.errors import DataError

KINDS = ["multi_label", "single_label"]


@pytest.mark.parametrize("kind", KINDS)
def test_entropy_at_its_two_ends(kind):
    own = torch.tensor([True, True, False])
    logits = torch.tensor([[0.0, 0.0, 50.0], [60.0, -60.0, 0.0]])
    assert entropy_confidence(logits, own, kind).tolist() == pytest.approx([0, 1], abs=1e-6)


def test_entropy_by_hand():
    logits, own = torch.tensor([[math.log(3), 0.0]]), torch.ones(2, dtype=torch.bool)
    h = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))  # of 3:1
    assert entropy_confidence(logits, own, "single_label").item() == pytest.approx(1 - h)
    # As sigmoids the same logits are 3:1 and 1:1, whose mean entropy is (h + 1) / 2.
    both = entropy_confidence(logits, own, "multi_label").item()
    assert both == pytest.approx(1 - (h + 1) / 2)


def test_one_class_and_none():
    logits = torch.randn(3, 2)
    one, none = torch.tensor([True, False]), torch.zeros(2, dtype=torch.bool)
    assert entropy_confidence(logits, one, "single_label").tolist() == [1, 1, 1]
    assert entropy_confidence(logits, none, "multi_label").tolist() == [0, 0, 0]


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=3, max_size=3), st.sampled_from(KINDS))
def test_entropy_lies_between_0_and_1(row, kind):
    value = entropy_confidence(torch.tensor([row]), torch.ones(3, dtype=torch.bool), kind)
    assert 0 <= value.item() <= 1


def test_outlier_is_what_the_softmax_leaves_it():
    logits, outlier = torch.randn(5, 3), torch.randn(5)
    p = torch.cat([logits, outlier[:, None]], dim=1).softmax(1)[:, -1]
    assert torch.allclose(outlier_confidence(outlier, logits), 1 - p, atol=1e-6)
    far = outlier_confidence(torch.tensor([1e4, -1e4]), torch.zeros(2, 3))
    assert far.tolist() == [0, 1]


def test_against_the_outlier_no_number_of_a_case_remains():
    g = torch.Generator().manual_seed(1)
    logits, outlier, shift = (torch.randn(50, n, generator=g) for n in (3, 1, 1))
    public = 5 * (logits - outlier) - 40  # any scale and place: only the order of cases counts
    found = against_outlier(5 * logits, 5 * outlier[:, 0] + 40, public=public, bound=8.0)
    assert torch.allclose(found.mean(0), torch.zeros(3), atol=1e-4)
    assert torch.allclose(found.std(0), torch.full((3,), 2.0), atol=1e-4)
    moved = [5 * logits + shift, 5 * outlier[:, 0] + 40 + shift[:, 0]]
    assert torch.allclose(against_outlier(*moved, public=public, bound=8.0), found, atol=1e-4)


def test_against_the_outlier_needs_a_public_set():
    with pytest.raises(DataError):
        against_outlier(torch.zeros(1, 2), torch.zeros(1), public=torch.zeros(1, 2), bound=8.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("true", [0.5, 1.0, 3.0])
def test_the_temperature_that_made_the_labels_is_found(kind, true):
    g = torch.Generator().manual_seed(5)
    logits = torch.randn(20_000, 3, generator=g) * 3
    if kind == "single_label":
        drawn = torch.multinomial((logits / true).softmax(1), 1, generator=g)[:, 0]
        labels = torch.nn.functional.one_hot(drawn, 3)
    else:
        labels = torch.bernoulli((logits / true).sigmoid(), generator=g)
    assert fit_temperature(logits, labels.to(torch.int8), kind) == pytest.approx(true, rel=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_labels_do_not_count(kind):
    logits = torch.randn(500, 3)
    labels = torch.nn.functional.one_hot(torch.randint(0, 3, (500,)), 3).to(torch.int8)
    extra = torch.full((100, 3), -1, dtype=torch.int8)
    padded = fit_temperature(
        torch.cat([logits, torch.randn(100, 3) * 50]), torch.cat([labels, extra]), kind
    )
    assert padded == pytest.approx(fit_temperature(logits, labels, kind))


def test_clamps_and_nothing_labelled():
    right = torch.tensor([[5.0, -5.0]] * 9)
    labels = torch.tensor([[1, 0]] * 9, dtype=torch.int8)
    assert fit_temperature(right, labels, "multi_label") == pytest.approx(0.25)
    assert fit_temperature(-right, labels, "single_label") == pytest.approx(8)
    assert fit_temperature(right, torch.full_like(labels, -1), "single_label") == 1
    assert fit_temperature(right, torch.full_like(labels, -1), "multi_label") == 1
    with pytest.raises(DataError):
        fit_temperature(right, labels[:3], "multi_label")
