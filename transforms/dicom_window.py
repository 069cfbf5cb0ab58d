"""From stored values to grey: modality LUT, then VOI LUT, window or percentiles."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pydicom import Dataset

__all__ = ["is_windowed", "window_unit", "windowed"]


def is_windowed(dataset: "Dataset") -> bool:
    """Whether the header changes stored values before they are shown."""
    names = ("ModalityLUTSequence", "VOILUTSequence", "PixelPaddingValue")
    if any(name in dataset for name in names) or _window(dataset) is not None:
        return True
    return (_number(dataset, "RescaleSlope", 1.0), _number(dataset, "RescaleIntercept", 0.0)) != (
        1.0,
        0.0,
    )


def windowed(stored: np.ndarray, dataset: "Dataset", *, tails: tuple[float, float]) -> np.ndarray:
    """Stored values (H, W) to float32 in [0, 1].

    Args:
        stored: as decoded.
        dataset: its header.
        tails: percentiles that become 0 and 1 where the header names neither VOI LUT nor window.
    """
    from pydicom.pixels.processing import apply_modality_lut, apply_voi

    padding = _padding(stored, dataset)
    values = np.asarray(apply_modality_lut(stored, dataset), np.float32)
    window = _window(dataset)
    if "VOILUTSequence" in dataset:
        whole = values.astype(np.int32)
        bits = int(dataset.VOILUTSequence[0].LUTDescriptor[2])
        unit = np.asarray(apply_voi(whole, dataset, index=0), np.float32) / np.float32(2**bits - 1)
    elif window is not None:
        unit = window_unit(values, *window, function=str(dataset.get("VOILUTFunction") or "LINEAR"))
    else:
        seen = values[~padding] if padding.any() and not padding.all() else values
        low, high = np.percentile(seen, tails)
        unit = (values - np.float32(low)) / np.float32(max(high - low, 1e-6))
    unit = np.clip(unit, 0.0, 1.0)
    # Padding is what the detector never saw: it is black on the light box, whatever the photometry.
    unit[padding] = 1.0 if dataset.get("PhotometricInterpretation") == "MONOCHROME1" else 0.0
    return np.asarray(unit, np.float32)


def window_unit(
    values: np.ndarray, centre: float, width: float, *, function: str = "LINEAR"
) -> np.ndarray:
    """A window as a map to [0, 1].

    >>> [round(float(v), 3) for v in window_unit(np.array([0.0, 40.0, 80.0]), 40, 80)]
    [0.0, 0.506, 1.0]

    Source: DICOM PS3.3 C.11.2.1.2.1 (LINEAR), C.11.2.1.3.1 (SIGMOID), C.11.2.1.3.2 (LINEAR_EXACT).
    """
    values = np.asarray(values, np.float32)
    if function == "SIGMOID":
        return np.asarray(1.0 / (1.0 + np.exp(-4.0 * (values - centre) / width)), np.float32)
    if function == "LINEAR_EXACT":
        unit = (values - centre) / width + 0.5
    else:
        unit = (values - (centre - 0.5)) / max(width - 1.0, 1e-6) + 0.5
    return np.asarray(np.clip(unit, 0.0, 1.0), np.float32)


def _window(dataset: "Dataset") -> tuple[float, float] | None:
    centre, width = _number(dataset, "WindowCenter", None), _number(dataset, "WindowWidth", None)
    if centre is None or width is None or not width > 0 or not np.isfinite([centre, width]).all():
        return None
    return centre, width


def _number(dataset: "Dataset", name: str, otherwise: float | None) -> float | None:
    """The first value of a numeric attribute; headers may hold several windows, or text of the wrong VR."""
    value = dataset.get(name)
    if value is None or value == "":
        return otherwise
    try:
        first = value if isinstance(value, str | bytes | int | float) else value[0]
        return float(first)
    except (TypeError, ValueError, IndexError):
        return otherwise


def _padding(stored: np.ndarray, dataset: "Dataset") -> np.ndarray:
    low = _number(dataset, "PixelPaddingValue", None)
    if low is None:
        return np.zeros(stored.shape, bool)
    high = _number(dataset, "PixelPaddingRangeLimit", low)
    first, last = sorted((low, low if high is None else high))
    return np.asarray((stored >= first) & (stored <= last))
