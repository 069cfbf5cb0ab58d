"""MONAI dictionary transforms over this room's functions: picklable, and invertible where that has a meaning.

Axes: C channels, H rows, W columns, X Y Z of a RAS volume, T tiles, S edge of a tile.
"""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from monai.data.meta_tensor import MetaTensor
from monai.transforms.inverse import InvertibleTransform
from monai.transforms.transform import MapTransform, Transform

from medfed.transforms.dicom import is_dicom, read_dicom
from medfed.transforms.images import read_raw
from medfed.transforms.instances import instances_from_ternary, ternary_map
from medfed.transforms.intensity import Linear, foreground, percentile_map, z_score_map
from medfed.transforms.nifti import Volume, read_labels, read_volume
from medfed.transforms.stain import MacenkoReference, ReinhardReference, macenko, reinhard
from medfed.transforms.tiles import TilePlan

__all__ = [
    "CutTilesd",
    "FetchItem",
    "NormaliseForegroundd",
    "NormaliseStaind",
    "ReadImaged",
    "ReadVolumed",
    "TernaryMapd",
]

Item = dict[Hashable, Any]
Record = dict[str, Any]
Keys = str | Sequence[str]


class FetchItem(Transform):
    """The item that a reference {"case": position} stands for; the reading end of a persistent dataset."""

    def __init__(self, items: Sequence[Mapping[str, Any]]) -> None:
        self._items = items

    def __call__(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Read one item."""
        return dict(self._items[int(data["case"])])


class ReadImaged(MapTransform):
    """Path of a PNG, JPEG, TIFF or DICOM file to (C, H, W) float32 in [0, 1] with its spacing as metadata."""

    def __call__(self, data: Mapping[Hashable, Any]) -> Item:
        """Read every key."""
        found = dict(data)
        for key in self.key_iterator(found):
            path = Path(found[key])
            raw = read_dicom(path) if is_dicom(path) else read_raw(path)
            pixels = raw.scaled()
            planes = pixels[None] if pixels.ndim == 2 else pixels
            meta = {"spacing_mm": raw.spacing_mm, "mode": raw.mode}
            found[key] = MetaTensor(torch.from_numpy(np.ascontiguousarray(planes)), meta=meta)
        return found


class _Recorded(MapTransform, InvertibleTransform):
    """A transform as a pair of functions, with what the second needs kept in MONAI's trace."""

    def __call__(self, data: Mapping[Hashable, Any]) -> Item:
        """Transform every key and note how to go back."""
        found = dict(data)
        for key in self.key_iterator(found):
            value, record, affine = self._forward(found[key])
            size = list(value.shape[1:])
            result = _tensor(value, like=found[key], affine=affine)
            self.push_transform(result, orig_size=size, extra_info=record)  # type: ignore[no-untyped-call]
            found[key] = result
        return found

    def inverse(self, data: Mapping[Hashable, Any]) -> Item:
        """Undo every key."""
        found = dict(data)
        for key in self.key_iterator(found):
            record = self.pop_transform(found[key])["extra_info"]
            value, affine = self._backward(np.asarray(found[key]), record)
            found[key] = _tensor(value, like=found[key], affine=affine)
        return found

    def _forward(self, value: Any) -> tuple[np.ndarray, Record, np.ndarray | None]:  # noqa: ANN401
        raise NotImplementedError

    def _backward(self, value: np.ndarray, record: Record) -> tuple[np.ndarray, np.ndarray | None]:
        raise NotImplementedError


class ReadVolumed(_Recorded):
    """Path of a NIfTI file to (1, X, Y, Z) in RAS; the inverse turns an array into the file's own axes.

    Args:
        keys: of the item.
        labels: keys that hold label maps, which become int16 and are checked for whole numbers.
    """

    def __init__(
        self, keys: Keys, labels: Sequence[str] = (), allow_missing_keys: bool = False
    ) -> None:
        super().__init__(keys, allow_missing_keys)
        self._labels = frozenset(labels)

    def __call__(self, data: Mapping[Hashable, Any]) -> Item:
        """Read every key."""
        found = dict(data)
        for key in self.key_iterator(found):
            volume = (read_labels if key in self._labels else read_volume)(Path(found[key]))
            result = _tensor(volume.voxels[None], like=None, affine=volume.affine)
            record = {"source": volume.source.tolist(), "codes": volume.codes}
            self.push_transform(result, orig_size=list(volume.voxels.shape), extra_info=record)  # type: ignore[no-untyped-call]
            found[key] = result
        return found

    def _backward(self, value: np.ndarray, record: Record) -> tuple[np.ndarray, np.ndarray | None]:
        volume = Volume(value[0], np.eye(4), np.array(record["source"]), record["codes"])
        return np.stack([volume.to_source(channel) for channel in value]), None


class NormaliseForegroundd(_Recorded):
    """Z-scores, or percentiles to 0 and 1, inside each channel's foreground; the inverse restores the values."""

    def __init__(
        self,
        keys: Keys,
        how: Literal["z_score", "percentiles"] = "z_score",
        allow_missing_keys: bool = False,
    ) -> None:
        super().__init__(keys, allow_missing_keys)
        self._how = how

    def _forward(self, value: Any) -> tuple[np.ndarray, Record, np.ndarray | None]:  # noqa: ANN401
        make = z_score_map if self._how == "z_score" else percentile_map
        channels = np.asarray(value, np.float32)
        maps = [make(channel, foreground(channel)) for channel in channels]
        moved = np.stack([one.apply(channel) for one, channel in zip(maps, channels, strict=True)])
        return moved, {"maps": [[one.shift, one.scale] for one in maps]}, None

    def _backward(self, value: np.ndarray, record: Record) -> tuple[np.ndarray, np.ndarray | None]:
        maps = [Linear(*pair) for pair in record["maps"]]
        return np.stack([one.undo(channel) for one, channel in zip(maps, value, strict=True)]), None


class NormaliseStaind(MapTransform):
    """(3, H, W) in [0, 1] to a reference's stain, by Reinhard or Macenko, whichever the reference is of."""

    def __init__(
        self,
        keys: Keys,
        reference: ReinhardReference | MacenkoReference,
        allow_missing_keys: bool = False,
    ) -> None:
        super().__init__(keys, allow_missing_keys)
        self._reference = reference

    def __call__(self, data: Mapping[Hashable, Any]) -> Item:
        """Normalise every key."""
        found = dict(data)
        for key in self.key_iterator(found):
            pixels = np.asarray(found[key], np.float32)
            if isinstance(self._reference, MacenkoReference):
                stained = macenko(pixels, self._reference)
            else:
                stained = reinhard(pixels, self._reference)
            found[key] = _tensor(stained, like=found[key], affine=None)
        return found


class TernaryMapd(_Recorded):
    """(1, H, W) instances to (1, H, W) of background, inside and contour; the inverse is the watershed."""

    def __init__(self, keys: Keys, smallest_px: int = 20, allow_missing_keys: bool = False) -> None:
        super().__init__(keys, allow_missing_keys)
        self._smallest_px = smallest_px

    def _forward(self, value: Any) -> tuple[np.ndarray, Record, np.ndarray | None]:  # noqa: ANN401
        return ternary_map(np.asarray(value)[0].astype(np.int32))[None], {}, None

    def _backward(self, value: np.ndarray, record: Record) -> tuple[np.ndarray, np.ndarray | None]:
        del record
        return instances_from_ternary(value[0], smallest_px=self._smallest_px)[None], None


class CutTilesd(_Recorded):
    """(C, H, W) to (T, C, S, S) of overlapping tiles; the inverse stitches them."""

    def __init__(
        self,
        keys: Keys,
        size: int,
        overlap: int = 0,
        seam: Literal["blend", "centre"] = "blend",
        allow_missing_keys: bool = False,
    ) -> None:
        super().__init__(keys, allow_missing_keys)
        self._size, self._overlap, self._seam = size, overlap, seam

    def _forward(self, value: Any) -> tuple[np.ndarray, Record, np.ndarray | None]:  # noqa: ANN401
        image = np.asarray(value)
        plan = TilePlan((image.shape[-2], image.shape[-1]), self._size, self._overlap)
        return plan.cut(image), {"shape": list(plan.shape)}, None

    def _backward(self, value: np.ndarray, record: Record) -> tuple[np.ndarray, np.ndarray | None]:
        height, width = record["shape"]
        plan = TilePlan((height, width), self._size, self._overlap)
        return plan.stitch(value, seam=self._seam), None


def _tensor(value: np.ndarray, *, like: Any, affine: np.ndarray | None) -> MetaTensor:  # noqa: ANN401
    """An array as MetaTensor that keeps the metadata and the trace of what it came from."""
    tensor = torch.from_numpy(np.ascontiguousarray(value))
    if isinstance(like, MetaTensor):
        kept = MetaTensor(tensor)
        kept.copy_meta_from(like)  # type: ignore[no-untyped-call]
        return kept
    return MetaTensor(tensor, affine=torch.from_numpy(np.eye(4) if affine is None else affine))
