"""Cases as MONAI dictionary items, with a patient's identifier hashed by the site's secret.

Axes: C classes or regions, H rows, W columns.
"""

import hashlib
import hmac
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from medfed.data.cases import Cases
from medfed.data.masks import MaskedCases
from medfed.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from monai.data.dataset import PersistentDataset

__all__ = ["Items", "hashed_patient", "persistent_items"]

Item = dict[str, Any]


def hashed_patient(secret: str, patient: str) -> str:
    """A patient as sixteen hex digits that mean nothing without the site's secret.

    Raises:
        ConfigError: the site has no secret, and a hash without one can be guessed number by number.

    >>> hashed_patient("a", "61") == hashed_patient("b", "61")
    False
    """
    if not secret:
        raise ConfigError(
            "secret: is missing in site.toml, and patients are not hashed without it; add one."
        )
    return hmac.new(secret.encode(), patient.encode(), hashlib.sha256).hexdigest()[:16]


class Items(Sequence[Item]):
    """Cases as MONAI dictionary items; the pixels of an item are read when it is asked for.

    An item has `image` (channels first, float32), `known` (C,) bool, `patient` (hashed), `spacing_mm`
    (a tuple, or None), and `label`: (C,) int8 of 1, 0, -1, or the mask where the cases have masks.

    Args:
        cases: with labels or with masks.
        secret: of the site.
    """

    def __init__(self, cases: Cases | MaskedCases, *, secret: str) -> None:
        self.cases = cases
        self._patients = [hashed_patient(secret, patient) for patient in cases.patients]

    def __len__(self) -> int:
        return len(self.cases)

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...

    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        """One item, or several.

        Raises:
            BadFile: an image or mask cannot be read.
        """
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        if isinstance(self.cases, MaskedCases):
            found = self.cases.read(position)
            item = {"image": found.image, "label": found.mask, "known": self.cases.known.copy()}
            return {**item, "patient": self._patients[position], "spacing_mm": found.spacing_mm}
        raw, labels = self.cases.raw(position), self.cases.labels[position]
        image = raw.scaled()
        return {
            "image": image[None] if image.ndim == 2 else image,
            "label": labels.copy(),
            "known": np.asarray(labels >= 0),
            "patient": self._patients[position],
            "spacing_mm": raw.spacing_mm,
        }


def persistent_items(
    items: Items, transform: "Callable[[Item], Item]", *, folder: Path, version: str
) -> "PersistentDataset":
    """MONAI's persistent dataset over items, its cache keyed by a case's content and the transform's version.

    What comes before the first random transform is computed once and kept below `folder`. A file that
    changes has another key; so has every item when `version` changes.

    Args:
        items: what to read.
        transform: a dictionary transform, or a `Compose` of several.
        folder: of the cache; it holds patients' images, so give it the rights of the originals.
        version: names the transform and its parameters, such as a pipeline's fingerprint.
    """
    from monai.data.dataset import PersistentDataset
    from monai.transforms.compose import Compose

    from medfed.transforms.dictionary import FetchItem

    references = [
        {"case": i, "key": hashlib.sha256(items.cases.digest(i) + version.encode()).hexdigest()}
        for i in range(len(items))
    ]
    return PersistentDataset(
        references,
        Compose([FetchItem(items), transform]),
        cache_dir=folder,
        hash_func=_content_key,
        weights_only=False,  # an item holds a patient's hash and a spacing beside its tensors
    )


def _content_key(reference: dict[str, str]) -> bytes:
    return str(reference["key"]).encode()
