import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from medfed.algorithms.quantisation import dequantise, quantise
from medfed.errors import ConfigError, NonFiniteError

logit = st.floats(-20, 20, width=32)
LEVELS = st.sampled_from([2, 3, 8, 100, 201, 256, 4096, 65_536])


def column(values):
    return torch.tensor(values, dtype=torch.float32)[:, None]


def paper_level(z, levels, z_max):
    """The paper's words: the s with z in (q_{s-1}, q_s], counted from 0."""
    for s in range(levels):
        if z <= 2 * s * z_max / (levels - 1) - z_max:
            return s
    return levels - 1


def test_public_bound_by_hand():
    # S = 5, B = 2: the levels are -2, -1, 0, 1, 2.
    indices = quantise(column([-9, -1.2, 0.4, 0.6, 9]), levels=5, bound=2.0, mode="public_bound")
    assert indices.dtype == torch.uint8
    assert indices[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert dequantise(indices, levels=5, bound=2.0)[:, 0].tolist() == [-2, -1, 0, 1, 2]


def test_paper_rounds_up_by_hand():
    indices = quantise(column([-2, -1.9, -1, 0.1, 1, 1.1]), levels=5, bound=2.0, mode="paper")
    assert indices[:, 0].tolist() == [0, 1, 1, 3, 3, 4]


@given(st.lists(logit, min_size=1, max_size=30), LEVELS, st.floats(0.5, 16))
def test_nearest_level_is_within_half_a_step(values, levels, bound):
    z = column(values)
    q = dequantise(
        quantise(z, levels=levels, bound=bound, mode="public_bound"), levels=levels, bound=bound
    )
    half_step = bound / (levels - 1)
    assert (q - z.clamp(-bound, bound)).abs().max() <= half_step + bound * 2**-21


@given(st.lists(st.integers(-64, 64), min_size=1, max_size=20), st.sampled_from([2, 5, 9, 17]))
def test_paper_equals_its_words(eighths, levels):
    z = column([e / 8 for e in eighths])
    indices = quantise(z, levels=levels, bound=8.0, mode="paper")
    assert indices[:, 0].tolist() == [paper_level(e / 8, levels, 8.0) for e in eighths]


@pytest.mark.parametrize("mode", ["paper", "public_bound"])
@pytest.mark.parametrize("bound", [8.0, 0.1, 7.3, 1e-3, 123.456])
@pytest.mark.parametrize("levels", [2, 3, 100, 201, 256, 65_536])
def test_a_level_keeps_its_index(mode, bound, levels):
    indices = torch.arange(levels)[:, None]
    q = dequantise(indices, levels=levels, bound=bound)
    assert torch.equal(quantise(q, levels=levels, bound=bound, mode=mode), indices)


def test_bias_of_the_two_modes():
    z = torch.empty(200_000, 1).uniform_(-8, 8, generator=torch.Generator().manual_seed(0))
    step = 16 / 15
    errors = {
        mode: dequantise(quantise(z, levels=16, bound=8.0, mode=mode), levels=16, bound=8.0) - z
        for mode in ("paper", "public_bound")
    }
    assert errors["paper"].mean().item() == pytest.approx(step / 2, abs=0.01)
    assert errors["public_bound"].mean().item() == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("mode", ["paper", "public_bound"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_non_finite_logits_are_refused(mode, bad):
    z = torch.zeros(70_000, 1)
    z[69_999] = bad
    with pytest.raises(NonFiniteError):
        quantise(z, levels=8, bound=8.0, mode=mode)


@given(st.integers(0, 200_000))
@settings(max_examples=5, deadline=None)
def test_chunks_do_not_show(cases):
    z = torch.randn(cases, 1)
    whole = (z.clamp(-8, 8) * (255 / 16) + 127.5).round().long()
    assert torch.equal(quantise(z, levels=256, bound=8.0, mode="public_bound"), whole)


def test_all_zero_logits_in_the_papers_mode():
    indices = quantise(torch.zeros(3, 2), levels=8, bound=0.0, mode="paper")
    assert dequantise(indices, levels=8, bound=0.0).eq(0).all()


@pytest.mark.parametrize(("levels", "bound"), [(1, 8.0), (8, 0.0), (8, -1.0), (8, math.nan)])
def test_useless_settings_are_refused(levels, bound):
    with pytest.raises(ConfigError):
        quantise(torch.zeros(1, 1), levels=levels, bound=bound, mode="public_bound")
