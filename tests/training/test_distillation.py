import pytest
import torch

from medfed.errors import DataError, NonFiniteError, Stopped
from medfed.job import DistillationParams
from medfed.networks import NetworkSpec, build
from medfed.training import distil, predict_logits

SPEC = NetworkSpec(name="mlp", args={"hidden": [16], "size": 4})


def student():
    return build(SPEC, in_channels=1, classes=3, seed=2)


def run(network, images, targets, folder, *, stop=lambda: False, candidates=2, rows=None, **params):
    values = {"epochs": 3, "batch_size": 16, "learning_rate": 0.01, "held_out_share": 0.2, **params}
    kind = "multi_label"
    return distil(
        network,
        images,
        targets,
        DistillationParams(**values),
        kind=kind,
        seed=4,
        folder=folder,
        progress=lambda done, total: None,
        stop=stop,
        record=lambda *row: rows.append(row) if rows is not None else None,
        candidates=candidates,
    )


@pytest.fixture
def taught(squares):
    images = squares(120)
    pooled = torch.nn.functional.adaptive_avg_pool2d(images.images, 4).flatten(1)
    weights = torch.randn(16, 3, generator=torch.Generator().manual_seed(0))
    return images, pooled @ weights


def test_recovers_a_linear_teacher(taught, tmp_path):
    images, targets = taught
    rows, network = [], student()
    done = run(network, images, targets, tmp_path, epochs=60, rows=rows)
    assert max(row.agreement for row in done.epochs) > 0.97
    assert [(r.epoch, r.loss, r.agreement) for r in done.epochs] == rows
    assert done.epochs[done.best_epoch - 1].agreement == max(r.agreement for r in done.epochs)
    state = network.state_dict()
    assert len(done.candidates) == 2
    assert all(torch.equal(state[k], v) for k, v in done.candidates[0].items())
    assert (predict_logits(network, images) - targets).abs().mean() < 0.2


@pytest.mark.parametrize("loss", ["l2", "l1", "kl", "bce"])
def test_dropped_classes_teach_nothing(taught, tmp_path, loss):
    images, targets = taught
    targets = targets.clone()
    targets[:, 1] = float("nan")
    network = student()
    before = network.head.weight[1].clone()
    done = run(network, images, targets, tmp_path, loss=loss)
    assert torch.equal(network.head.weight[1], before)
    assert all(-1 <= row.agreement <= 1 for row in done.epochs)


def test_resumed_equals_uninterrupted_bit_for_bit(taught, tmp_path):
    images, targets = taught
    whole, broken = student(), student()
    first = run(whole, images, targets, tmp_path / "a", augment="flip_shift")
    calls = iter(range(100))
    with pytest.raises(Stopped):
        run(
            broken,
            images,
            targets,
            tmp_path / "b",
            augment="flip_shift",
            stop=lambda: next(calls) >= 9,
        )
    again = student()
    second = run(again, images, targets, tmp_path / "b", augment="flip_shift")
    assert first.epochs == second.epochs
    for one, two in zip(first.candidates, second.candidates, strict=True):
        assert all(torch.equal(one[key], two[key]) for key in one)


def test_wrong_targets_are_refused(taught, tmp_path):
    images, targets = taught
    with pytest.raises(DataError, match="119 rows"):
        run(student(), images, targets[:-1], tmp_path)
    with pytest.raises(DataError, match="dropped"):
        run(student(), images, torch.full_like(targets, float("nan")), tmp_path)
    targets = targets.clone()
    targets[3, 0] = float("nan")
    with pytest.raises(NonFiniteError):
        run(student(), images, targets, tmp_path)


def test_two_images_are_enough(squares, tmp_path):
    done = run(student(), squares(2), torch.zeros(2, 3), tmp_path)
    assert len(done.epochs) == 3
