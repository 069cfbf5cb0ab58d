"""The student as it leaves a run: weights, what builds it again, and the lines that load it."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from safetensors.numpy import save

from medfed.errors import RunFolderError

__all__ = ["LOADER_KEYS", "student_files"]

LOADER_KEYS = ("network", "in_channels", "classes", "task_kind", "image")
LOAD_PY = '''"""Loads the student beside this file: `from load import model, pipeline, classes`."""

import json
from pathlib import Path

from safetensors.torch import load_file

from medfed.networks import NetworkSpec, build
from medfed.transforms import ImagePipeline

here = Path(__file__).parent
loader = json.loads((here / "student.json").read_text(encoding="utf-8"))
classes = loader["classes"]

network = NetworkSpec(**loader["network"])
model = build(network, in_channels=loader["in_channels"], classes=len(classes), seed=0)
model.load_state_dict(load_file(here / "model.safetensors"))
model.eval()
pipeline = ImagePipeline(**loader["image"])  # raw image (H, W) in [0, 1] -> the model's input
'''


def student_files(weights: Mapping[str, np.ndarray], loader: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of `student/` by name.

    Args:
        weights: the network's state by name.
        loader: LOADER_KEYS: `network` {name, args}, `in_channels`, `classes` (their names, in the
            order of the outputs), `task_kind`, `image` (the pipeline's arguments).

    Raises:
        RunFolderError: the loader's keys are not those.
    """
    if set(loader) != set(LOADER_KEYS):
        raise RunFolderError(
            f"the student's loader must hold {list(LOADER_KEYS)}, not {sorted(loader)}."
        )
    arrays = {name: np.asarray(value, order="C") for name, value in weights.items()}
    return {
        "model.safetensors": save(arrays, metadata={"format": "pt"}),
        "student.json": (json.dumps(dict(loader), indent=1) + "\n").encode(),
        "load.py": LOAD_PY.encode(),
    }
