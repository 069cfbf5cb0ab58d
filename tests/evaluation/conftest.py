import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # brute_force.py is shared by the tests beside it

HAVE = ["numpy"]
try:
    import numba  # noqa: F401

    HAVE.insert(0, "numba")
except ImportError:
    pass


@pytest.fixture(params=HAVE)
def backend(request, monkeypatch):
    """Both ways of computing go through the same test."""
    monkeypatch.setenv("MEDFED_EVALUATION_BACKEND", request.param)
    return request.param


@pytest.fixture
def data():
    folder = os.environ.get("MEDFED_DATA")
    if not folder:
        pytest.skip("MEDFED_DATA does not name the folder of test data")
    return Path(folder)


@pytest.fixture
def deepmind(monkeypatch):
    """The surface-distance package; its code predates names that numpy and scipy have dropped."""
    from types import SimpleNamespace

    from scipy import ndimage

    monkeypatch.setattr(np, "Inf", np.inf, raising=False)
    metrics = pytest.importorskip("surface_distance.metrics")
    monkeypatch.setattr(
        metrics,
        "ndimage",
        SimpleNamespace(
            filters=SimpleNamespace(correlate=ndimage.correlate),
            morphology=SimpleNamespace(distance_transform_edt=ndimage.distance_transform_edt),
        ),
    )
    return metrics
