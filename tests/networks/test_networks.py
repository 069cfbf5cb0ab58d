import subprocess
import sys

import pytest
import torch

from medfed.errors import ConfigError
from medfed.networks import NetworkSpec, build, describe, names, parts

SMALL = {"densenet": {"init_features": 4, "growth_rate": 2, "block_config": [1, 2]}}


def made(name, classes=3, in_channels=1, seed=0, **args):
    spec = NetworkSpec(name=name, args=args)
    return build(spec, in_channels=in_channels, classes=classes, seed=seed)


def size(network):
    return sum(p.numel() for p in network.parameters())


@pytest.mark.parametrize("name", names())
def test_logits_have_one_column_per_class(name):
    network = made(name, classes=5, **SMALL.get(name, {})).eval()
    with torch.no_grad():
        assert network(torch.zeros(2, 1, 32, 32)).shape == (2, 5)


@pytest.mark.parametrize("name", names())
def test_parts_cover_the_whole_state_once(name):
    where = parts(name)
    prefixes = (*where.body, where.head)
    state = made(name, **SMALL.get(name, {})).state_dict()
    assert all(sum(key.startswith(p) for p in prefixes) == 1 for key in state)
    assert all(any(key.startswith(p) for key in state) for p in prefixes)


def test_parameter_counts():
    assert size(made("resnet8", classes=10, in_channels=3)) == 4_911_754  # the paper's code, C = 10
    assert size(made("resnet8", classes=100, in_channels=3)) == 5_096_164
    # torchvision's DenseNet-121: 7,978,856 with 1000 classes and 3 channels.
    assert size(made("densenet121", classes=1000, in_channels=3)) == 7_978_856
    assert size(made("mlp", classes=3, hidden=[7], size=4)) == 16 * 7 + 7 + 7 * 3 + 3


def test_same_seed_same_weights_and_the_callers_random_state_is_untouched():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    one, two, other = made("small_cnn"), made("small_cnn"), made("small_cnn", seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    assert not torch.equal(one.head.weight, other.head.weight)


@pytest.mark.parametrize(
    ("name", "args", "words"),
    [
        ("densenet_121", {}, "Did you mean 'densenet121'"),
        ("small_cnn", {"widht": 4}, "Did you mean 'width'"),
        ("small_cnn", {"width": 0}, "from 1 to 1024"),
        ("small_cnn", {"width": True}, "whole number"),
        ("small_cnn", {"width": 4.0}, "whole number"),
        ("small_cnn", {"depth": 10**12}, "from 1 to 8"),
        ("mlp", {"hidden": [16_384] * 8, "size": 64}, "200,000,000"),
        ("mlp", {"hidden": []}, "list of 1 to 8"),
        ("mlp", {"hidden": [8] * 9}, "list of 1 to 8"),
        ("densenet", {"dropout": float("nan")}, "number"),
        ("densenet", {"block_config": "64"}, "list of"),
        ("resnet8", {"width": 1024}, "200,000,000"),
        ("unet", {"channels": [4]}, "2 to 6"),
    ],
)
def test_hostile_arguments_are_refused_by_name(name, args, words):
    with pytest.raises(ConfigError, match=name) as caught:
        made(name, **args)
    assert words in caught.value.local


def test_classes_are_bounded():
    with pytest.raises(ConfigError, match="classes"):
        made("mlp", classes=10**9)


def test_names_and_descriptions_need_no_torch():
    code = (
        "import sys; from medfed.networks import describe, names; [describe(n) for n in names()];"
        "assert 'torch' not in sys.modules and 'monai' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert "width: 16 (whole number 1 to 1024)" in describe("small_cnn")
