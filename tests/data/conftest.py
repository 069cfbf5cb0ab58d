"""A small NIH-style folder, and the real one where MEDFED_DATA names it."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

COLUMNS = [
    "Image Index",
    "Finding Labels",
    "Follow-up #",
    "Patient ID",
    "OriginalImage[Width",
    "Height]",
]


def write_nih(root, rows):
    """`rows`: (image, findings, patient); pixels differ from image to image."""
    (root / "images").mkdir(parents=True, exist_ok=True)
    with (root / "Data_Entry_2017.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for number, (image, findings, patient) in enumerate(rows):
            writer.writerow([image, findings, 0, patient, 1024, 1024])
            pixels = np.random.default_rng(number).integers(0, 255, (20, 20), np.uint8)
            Image.fromarray(pixels).save(root / "images" / image)
    return root


@pytest.fixture
def nih(tmp_path):
    findings = ["No Finding", "Pneumonia", "Mass|Nodule", "Effusion|Edema"]
    rows = [(f"{n:08d}_000.png", findings[n % 4], str(n // 2)) for n in range(24)]
    return write_nih(tmp_path / "nih", rows)


@pytest.fixture(scope="session")
def real_data():
    folder = os.environ.get("MEDFED_DATA")
    if not folder:
        pytest.skip("MEDFED_DATA names no folder of real images")
    return Path(folder)
