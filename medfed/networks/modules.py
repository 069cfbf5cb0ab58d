"""The networks that medfed writes itself, for images of shape (B, K, S, S)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["MLP", "Averaged", "ResNet8", "SmallCNN"]


class SmallCNN(nn.Module):
    """Stages of convolution, group norm and ReLU, each halving the image.

    Group norm keeps no running statistics, so small sites and small batches are safe.

    Args:
        in_channels: channels of the image.
        classes: outputs.
        width: channels of the first stage; every stage doubles them, up to eight times.
        depth: number of stages.
    """

    def __init__(self, in_channels: int, classes: int, *, width: int, depth: int) -> None:
        super().__init__()
        stages: list[nn.Module] = []
        before = in_channels
        for stage in range(depth):
            after = width * 2 ** min(stage, 3)
            stages += [
                nn.Conv2d(before, after, 3, stride=2 if stage else 1, padding=1, bias=False),
                nn.GroupNorm(4 if after % 4 == 0 else 1, after),
                nn.ReLU(),
            ]
            before = after
        self.body = nn.Sequential(*stages)
        self.head = nn.Linear(before, classes)

    def forward(self, image: Tensor) -> Tensor:
        """Logits (B, C)."""
        features: Tensor = self.body(image).mean(dim=(2, 3))
        logits: Tensor = self.head(features)
        return logits


class _Residual(nn.Module):
    """Two 3x3 convolutions with batch norm and a shortcut around them."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(after)
        self.second = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(after)
        self.shortcut = nn.Sequential()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(
                nn.Conv2d(before, after, 1, stride=stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, image: Tensor) -> Tensor:
        """Features (B, after, S / stride, S / stride)."""
        features = functional.relu(self.norm1(self.first(image)))
        return functional.relu(self.norm2(self.second(features)) + self.shortcut(image))


class ResNet8(nn.Module):
    """The eight-layer residual network of FedKD's CIFAR-10 experiments (Gong et al., AAAI 2022).

    Its features are averaged to 2 x 2 positions before the linear layer; at 32 x 32 pixels that is
    the paper's average pooling over windows of 4.

    Args:
        in_channels: channels of the image.
        classes: outputs.
        width: channels of the first stage; the stages have 1, 2 and 4 times as many.
    """

    def __init__(self, in_channels: int, classes: int, *, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(in_channels, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            _Residual(width, width, 1),
            _Residual(width, 2 * width, 2),
            _Residual(2 * width, 4 * width, 2),
        )
        self.head = nn.Linear(4 * width * 2 * 2, classes)

    def forward(self, image: Tensor) -> Tensor:
        """Logits (B, C)."""
        features = functional.adaptive_avg_pool2d(self.body(image), 2)
        logits: Tensor = self.head(features.flatten(1))
        return logits


class MLP(nn.Module):
    """Fully connected layers over the image averaged to `size` x `size` pixels.

    Args:
        in_channels: channels of the image.
        classes: outputs.
        hidden: units of each hidden layer.
        size: edge in pixels that every image is averaged to first.
    """

    def __init__(self, in_channels: int, classes: int, *, hidden: Sequence[int], size: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.AdaptiveAvgPool2d(size), nn.Flatten()]
        before = in_channels * size * size
        for units in hidden:
            layers += [nn.Linear(before, units), nn.ReLU()]
            before = units
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(before, classes)

    def forward(self, image: Tensor) -> Tensor:
        """Logits (B, C)."""
        logits: Tensor = self.head(self.body(image))
        return logits


class Averaged(nn.Module):
    """A network of logit maps (B, C, S, S) turned into one of logits (B, C) by averaging.

    Args:
        maps: the network whose maps are averaged.
    """

    def __init__(self, maps: nn.Module) -> None:
        super().__init__()
        self.maps = maps

    def forward(self, image: Tensor) -> Tensor:
        """Logits (B, C)."""
        return torch.mean(self.maps(image), dim=(2, 3))
