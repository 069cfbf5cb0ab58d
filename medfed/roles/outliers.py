"""An extra answer, "none of my classes", taught with public images.

A site that has never seen a class is over-confident on it. With one more output, trained with the
unlabelled public images as its examples, the site's network can say that an image is not of its kind.
"""

from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from medfed.data import Cases
from medfed.seeds import generator

__all__ = ["LabelledForOutliers", "sampled"]


class LabelledForOutliers(Dataset[dict[str, Any]]):
    """Items with one more label: 0 for the site's own cases, 1 for public images.

    Args:
        items: image, label (C,), known (C,), index.
        outlier: whether these are public images, whose other labels are unknown.
        single: labels exclude each other, so a public image is known to be none of the others.
        offset: added to each index, so that joined datasets count on.
    """

    def __init__(
        self, items: Dataset[Any], *, outlier: bool, single: bool, offset: int = 0
    ) -> None:
        self._items = items
        self._outlier = outlier
        self._single = single
        self._offset = offset

    def __len__(self) -> int:
        return len(self._items)  # type: ignore[arg-type]

    def __getitem__(self, index: int) -> dict[str, Any]:
        item = dict(self._items[index])
        label, known = item["label"], item["known"]
        if self._outlier:
            label, known = torch.zeros_like(label), torch.full_like(known, self._single)
        item["label"] = torch.cat([label, torch.tensor([float(self._outlier)])])
        item["known"] = torch.cat([known, torch.tensor([True])])
        item["index"] = item["index"] + self._offset
        return item


def sampled(cases: Cases, count: int, seed: int) -> Cases:
    """At most `count` cases, chosen by seed."""
    chosen = generator(seed, "sampled").permutation(len(cases))[:count]
    return cases.subset(np.sort(chosen))
