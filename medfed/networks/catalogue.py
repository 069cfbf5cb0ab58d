"""Every network by name: its arguments, their bounds, and how to make it."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from medfed.errors import ConfigError, DependencyMissing
from medfed.job import NetworkSpec
from medfed.networks.arguments import Argument, checked
from medfed.seeds import derive

if TYPE_CHECKING:
    from torch import nn

__all__ = ["PARAMETER_CAP", "Parts", "build", "describe", "names", "parts"]

PARAMETER_CAP = 200_000_000  # 800 MB of float32; a larger network is a mistake or an attack
CLASSES_CAP = 100_000
SEED_LIMIT = 1 << 63


@dataclass(frozen=True, slots=True)
class Parts:
    """Where a network's body and head stand in its state, as prefixes of parameter names."""

    body: tuple[str, ...]
    head: str


@dataclass(frozen=True, slots=True)
class _Entry:
    summary: str
    arguments: dict[str, Argument]
    make: Callable[[int, int, dict[str, Any]], "nn.Module"]
    parts: Parts


def _densenet121(in_channels: int, classes: int, args: dict[str, Any]) -> "nn.Module":
    return _densenet(
        in_channels,
        classes,
        {"init_features": 64, "growth_rate": 32, "block_config": (6, 12, 24, 16), **args},
    )


def _densenet(in_channels: int, classes: int, args: dict[str, Any]) -> "nn.Module":
    from monai.networks.nets.densenet import DenseNet

    network: nn.Module = DenseNet(
        spatial_dims=2,
        in_channels=in_channels,
        out_channels=classes,
        init_features=args["init_features"],
        growth_rate=args["growth_rate"],
        block_config=tuple(args["block_config"]),
        dropout_prob=float(args["dropout"]),
    )
    return network


def _small_cnn(in_channels: int, classes: int, args: dict[str, Any]) -> "nn.Module":
    from medfed.networks.modules import SmallCNN

    return SmallCNN(in_channels, classes, **args)


def _resnet8(in_channels: int, classes: int, args: dict[str, Any]) -> "nn.Module":
    from medfed.networks.modules import ResNet8

    return ResNet8(in_channels, classes, **args)


def _mlp(in_channels: int, classes: int, args: dict[str, Any]) -> "nn.Module":
    from medfed.networks.modules import MLP

    return MLP(in_channels, classes, **args)


def _unet(in_channels: int, classes: int, args: dict[str, Any]) -> "nn.Module":
    from monai.networks.nets.unet import UNet

    from medfed.networks.modules import Averaged

    channels = tuple(args["channels"])
    if len(channels) < 2:
        raise ConfigError("network 'unet': channels must hold 2 to 6 whole numbers, not 1.")
    maps = UNet(
        spatial_dims=2,
        in_channels=in_channels,
        out_channels=classes,
        channels=channels,
        strides=(2,) * (len(channels) - 1),
        num_res_units=args["res_units"],
        norm="batch",
        dropout=float(args["dropout"]),
    )
    return Averaged(maps)


_OWN = Parts(("body.",), "head.")
_DENSE = Parts(("features.",), "class_layers.")
_DROPOUT = Argument(0.0, 0.0, 0.95)
_CATALOGUE = {
    "densenet": _Entry(
        "MONAI's DenseNet",
        {
            "init_features": Argument(64, 1, 512),
            "growth_rate": Argument(32, 1, 256),
            "block_config": Argument((6, 12, 24, 16), 1, 64, longest=5),
            "dropout": _DROPOUT,
        },
        _densenet,
        _DENSE,
    ),
    "densenet121": _Entry("MONAI's DenseNet-121", {"dropout": _DROPOUT}, _densenet121, _DENSE),
    "mlp": _Entry(
        "fully connected layers over the image averaged to size x size pixels",
        {"hidden": Argument((64,), 1, 16_384, longest=8), "size": Argument(16, 1, 512)},
        _mlp,
        _OWN,
    ),
    "resnet8": _Entry(
        "FedKD's eight-layer residual network", {"width": Argument(128, 1, 1024)}, _resnet8, _OWN
    ),
    "small_cnn": _Entry(
        "stages of convolution, group norm and ReLU; safe for small sites",
        {"width": Argument(16, 1, 1024), "depth": Argument(4, 1, 8)},
        _small_cnn,
        _OWN,
    ),
    "unet": _Entry(
        "MONAI's U-Net, its logit maps averaged; the image's edge must be a multiple of "
        "2 ** (number of channels - 1)",
        {
            "channels": Argument((16, 32, 64), 1, 2048, longest=6),
            "res_units": Argument(0, 0, 8),
            "dropout": _DROPOUT,
        },
        _unet,
        Parts(("maps.model.0.", "maps.model.1."), "maps.model.2."),
    ),
}


def names() -> tuple[str, ...]:
    """The names of all networks."""
    return tuple(_CATALOGUE)


def describe(name: str) -> str:
    """One line about a network: what it is and its arguments with defaults and bounds."""
    entry = _entry(name)
    arguments = "; ".join(f"{key}: {value}" for key, value in entry.arguments.items())
    return f"{entry.summary}. Arguments: {arguments}"


def parts(name: str) -> Parts:
    """Where the body and the head of a network stand in its state."""
    return _entry(name).parts


def build(spec: NetworkSpec, *, in_channels: int, classes: int, seed: int) -> "nn.Module":
    """A freshly initialised network; the same spec and seed give the same weights.

    Args:
        spec: the network's name and arguments.
        in_channels: channels of an image (in_channels, S, S).
        classes: number of logits.
        seed: the run's seed; the caller's own random state is left as it was.

    Raises:
        ConfigError: an unknown name or argument, a value out of bounds, or too many parameters.
        DependencyMissing: torch or MONAI is not installed.
    """
    entry = _entry(spec.name)
    args = checked(spec.name, spec.args, entry.arguments)
    if not (1 <= in_channels <= 1024 and 1 <= classes <= CLASSES_CAP):
        raise ConfigError(
            f"network {spec.name!r}: in_channels must be 1 to 1024 and classes 1 to "
            f"{CLASSES_CAP}, not {in_channels} and {classes}."
        )
    try:
        import torch

        with torch.random.fork_rng(devices=[]):
            with torch.device("meta"):
                size = sum(p.numel() for p in entry.make(in_channels, classes, args).parameters())
            if size > PARAMETER_CAP:
                raise ConfigError(
                    f"network {spec.name!r}: these arguments make {size:,} parameters and at most "
                    f"{PARAMETER_CAP:,} are allowed. Choose smaller ones."
                )
            torch.random.manual_seed(derive(seed, "network", spec.name) % SEED_LIMIT)
            return entry.make(in_channels, classes, args)
    except ImportError as error:
        raise DependencyMissing(
            f"network {spec.name!r} needs torch and MONAI. Install medfed[train]."
        ) from error


def _entry(name: str) -> _Entry:
    if name in _CATALOGUE:
        return _CATALOGUE[name]
    close = difflib.get_close_matches(name, _CATALOGUE, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ConfigError(f"unknown network {name!r} (allowed: {', '.join(_CATALOGUE)}).{hint}")
