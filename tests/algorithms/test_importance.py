import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from medfed.algorithms.importance import class_importance, dropped_classes
from medfed.errors import DataError


def test_eq_1_by_hand():
    counts = torch.tensor([[1, 0, 0], [3, 5, 0]])
    expected = torch.tensor([[0.25, 0, 0], [0.75, 1, 0]], dtype=torch.float64)
    assert torch.equal(class_importance(counts), expected)
    assert dropped_classes(counts).tolist() == [False, False, True]


@given(st.lists(st.lists(st.integers(0, 10**9), min_size=4, max_size=4), min_size=1, max_size=9))
def test_columns_sum_to_1_or_are_dropped(rows):
    counts = torch.tensor(rows)
    sums, dropped = class_importance(counts).sum(0), dropped_classes(counts)
    assert torch.allclose(sums[~dropped], torch.ones((), dtype=torch.float64))
    assert sums[dropped].eq(0).all()


@pytest.mark.parametrize("bad", [[[-1.0]], [[float("nan")]], [[float("inf")]], [1.0]])
def test_bad_counts_are_refused(bad):
    with pytest.raises(DataError):
        class_importance(torch.tensor(bad))
