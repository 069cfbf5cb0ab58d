import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from medfed.algorithms.fedkd import EnsembleSum, add_noise, distillation_loss
from medfed.algorithms.importance import class_importance, dropped_classes
from medfed.errors import DataError, NonFiniteError
from medfed.job import NoiseParams

ALL = torch.ones(4, dtype=torch.bool)


def federation(seed, sites=5, cases=6, classes=4):
    g = torch.Generator().manual_seed(seed)
    logits = torch.randn(sites, cases, classes, generator=g) * 3
    counts = torch.randint(0, 3, (sites, classes), generator=g)
    confidence = torch.rand(sites, cases, generator=g)
    return logits, counts, confidence


def ensemble(logits, weights, labelled, confidence, order):
    total = EnsembleSum(*logits.shape[1:])
    for k in order:
        c = None if confidence is None else confidence[k]
        total.add(logits[k], weights=weights[k], labelled=labelled[k], confidence=c)
    return total


@given(st.integers(0, 10_000), st.booleans())
@settings(deadline=None)
def test_sum_equals_naive_loops(seed, trusted):
    logits, counts, confidence = federation(seed)
    total = ensemble(logits, counts.double(), counts > 0, None if trusted else confidence, range(5))
    mean = total.mean()
    assert torch.equal(total.dropped, dropped_classes(counts))
    for i in range(6):
        for c in range(4):
            pairs = [
                (counts[k, c].item() * (1 if trusted else max(confidence[k, i].item(), 1e-6)), k)
                for k in range(5)
            ]
            below = sum(w for w, _ in pairs)
            if below == 0:
                assert math.isnan(mean[i, c])
            else:
                naive = sum(w * logits[k, i, c].item() for w, k in pairs) / below
                assert mean[i, c].item() == pytest.approx(naive, rel=1e-5, abs=1e-6)


@given(st.integers(0, 10_000))
@settings(deadline=None)
def test_is_eq_2_with_class_importance(seed):
    logits, counts, _ = federation(seed)
    omega = class_importance(counts)
    labelled = torch.ones_like(counts, dtype=torch.bool)
    mean = ensemble(logits, omega, labelled, None, range(5)).mean()
    batch = torch.einsum("kc,knc->nc", omega, logits.double()).float()
    kept = ~dropped_classes(counts)
    assert torch.allclose(mean[:, kept], batch[:, kept], atol=1e-6)


def test_arrival_order_does_not_matter():
    logits, counts, confidence = federation(1)
    arrivals = list(range(5))
    reference = ensemble(logits, counts.double(), counts > 0, confidence, arrivals).mean()
    for seed in range(5):
        random.Random(seed).shuffle(arrivals)
        by_name = ensemble(logits, counts.double(), counts > 0, confidence, sorted(arrivals))
        assert torch.equal(by_name.mean().nan_to_num(9), reference.nan_to_num(9))
        as_arrived = ensemble(logits, counts.double(), counts > 0, confidence, arrivals)
        assert torch.allclose(as_arrived.mean(), reference, atol=1e-6, equal_nan=True)


def test_an_unlabelled_class_does_not_count_even_when_nan():
    total = EnsembleSum(1, 2)
    known = torch.tensor([True, False])
    total.add(
        torch.tensor([[2.0, math.nan]]),
        weights=torch.ones(2, dtype=torch.float64),
        labelled=known,
        confidence=None,
    )
    assert total.mean()[0, 0] == 2
    assert total.dropped.tolist() == [False, True]
    assert total.mean()[0, 1].isnan()


def test_a_case_that_all_disown_gets_the_plain_mean():
    logits, weights = torch.tensor([[[1.0]], [[4.0]]]), torch.tensor([[1.0], [2.0]])
    labelled = torch.ones(2, 1, dtype=torch.bool)
    mean = ensemble(logits, weights.double(), labelled, torch.zeros(2, 1), range(2)).mean()
    assert mean.item() == pytest.approx(3)


def test_no_site_drops_every_class():
    assert EnsembleSum(2, 3).dropped.all()
    assert EnsembleSum(2, 3).mean().isnan().all()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"logits": torch.zeros(3, 4)}, DataError),
        ({"logits": torch.full((2, 4), math.inf)}, NonFiniteError),
        ({"weights": -torch.ones(4)}, DataError),
        ({"weights": torch.full((4,), math.nan)}, DataError),
        ({"labelled": torch.ones(4)}, DataError),
        ({"confidence": torch.full((2,), 1.5)}, DataError),
        ({"confidence": torch.full((2,), math.nan)}, DataError),
        ({"confidence": torch.ones(4)}, DataError),
    ],
)
def test_what_cannot_be_added_is_refused_and_leaves_no_trace(change, error):
    total = EnsembleSum(2, 4)
    site = {"weights": torch.ones(4), "labelled": ALL, "confidence": None} | change
    with pytest.raises(error):
        total.add(site.pop("logits", torch.zeros(2, 4)), **site)
    assert total.dropped.all()


@pytest.mark.parametrize(("mechanism", "deviation"), [("laplace", math.sqrt(2)), ("gaussian", 1)])
def test_noise_has_its_moments_and_its_seed(mechanism, deviation):
    params = NoiseParams(mechanism=mechanism, scale=2.0)
    zeros = torch.zeros(50_000, 4)
    draw = add_noise(zeros, params, torch.Generator().manual_seed(3))
    assert torch.equal(draw, add_noise(zeros, params, torch.Generator().manual_seed(3)))
    assert draw.dtype == torch.float32
    assert draw.isfinite().all()
    assert draw.mean().item() == pytest.approx(0, abs=0.03)
    assert draw.std().item() == pytest.approx(2 * deviation, rel=0.02)
    median = 2 * (math.log(2) if mechanism == "laplace" else 0.6745)
    assert draw.abs().median().item() == pytest.approx(median, rel=0.02)


def test_no_noise_changes_nothing():
    logits = torch.randn(3, 2)
    assert add_noise(logits, NoiseParams(), torch.Generator()) is logits


def naive_kl(student, teacher, t):
    total = 0.0
    for s, z in zip(student.tolist(), teacher.tolist(), strict=True):
        p = [math.exp(v / t) / sum(math.exp(w / t) for w in z) for v in z]
        q = [math.exp(v / t) / sum(math.exp(w / t) for w in s) for v in s]
        total += sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    return t * t * total / len(student)


def naive_binary(student, teacher, t, *, less_entropy):
    def sigmoid(v):
        return 1 / (1 + math.exp(-v / t))

    total = 0.0
    for s, z in zip(student.flatten().tolist(), teacher.flatten().tolist(), strict=True):
        p, q = sigmoid(z), sigmoid(s)
        total -= p * math.log(q) + (1 - p) * math.log(1 - q)
        if less_entropy:
            total += p * math.log(p) + (1 - p) * math.log(1 - p)
    return t * t * total / student.numel()


@given(st.integers(0, 10_000), st.sampled_from([0.5, 1.0, 3.0]))
@settings(deadline=None)
def test_losses_equal_naive_loops(seed, t):
    g = torch.Generator().manual_seed(seed)
    student, teacher = torch.randn(2, 5, 4, generator=g, dtype=torch.float64)

    def value(loss, kind):
        return distillation_loss(
            student, teacher, loss=loss, temperature=t, known=ALL, kind=kind
        ).item()

    assert value("l2", "multi_label") == pytest.approx((student - teacher).square().mean().item())
    assert value("l1", "single_label") == pytest.approx((student - teacher).abs().mean().item())
    assert value("kl", "single_label") == pytest.approx(naive_kl(student, teacher, t))
    binary = naive_binary(student, teacher, t, less_entropy=True)
    assert value("kl", "multi_label") == pytest.approx(binary)
    binary = naive_binary(student, teacher, t, less_entropy=False)
    assert value("bce", "multi_label") == pytest.approx(binary)


def test_kl_at_a_large_temperature_is_l2_of_centred_logits():
    student, teacher = torch.randn(2, 50, 4, dtype=torch.float64)
    kl = distillation_loss(
        student, teacher, loss="kl", temperature=1e4, known=ALL, kind="single_label"
    )
    gap = student - teacher
    gap = gap - gap.mean(1, keepdim=True)
    assert kl.item() == pytest.approx(gap.square().sum(1).mean().item() / (2 * 4), rel=1e-3)


def test_binary_kl_at_a_large_temperature_is_an_eighth_of_l2():
    student, teacher = torch.randn(2, 50, 4, dtype=torch.float64)
    args = {"known": ALL, "kind": "multi_label"}
    kl = distillation_loss(student, teacher, loss="kl", temperature=1e3, **args)
    l2 = distillation_loss(student, teacher, loss="l2", temperature=1.0, **args)
    assert kl.item() == pytest.approx(l2.item() / 8, rel=1e-3)


@pytest.mark.parametrize("loss", ["l2", "l1", "kl", "bce"])
@pytest.mark.parametrize("kind", ["multi_label", "single_label"])
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_gradients_are_finite_and_skip_dropped_classes(loss, kind, size):
    student = (torch.randn(6, 4) * size).requires_grad_()
    teacher = torch.randn(6, 4) * size
    teacher[:, 1] = math.nan
    known = torch.tensor([True, False, True, True])
    value = distillation_loss(student, teacher, loss=loss, temperature=2.0, known=known, kind=kind)
    value.backward()
    assert value.isfinite()
    assert student.grad.isfinite().all()
    assert student.grad[:, 1].eq(0).all()


def test_nothing_known_is_nothing_to_distil():
    z = torch.zeros(2, 4)
    with pytest.raises(DataError):
        distillation_loss(z, z, loss="l2", temperature=1.0, known=~ALL, kind="multi_label")
