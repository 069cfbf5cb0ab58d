import pytest
import torch
from torch.utils.data import Dataset

from medfed.training import compute_with


class Squares(Dataset):
    """Class c is a bright square at place c; the labels are given or drawn."""

    def __init__(self, count, classes=3, *, seed=0, single=False, size=16, unknown=False):
        draws = torch.Generator().manual_seed(seed)
        self.labels = (torch.rand(count, classes, generator=draws) < 0.5).float()
        if single:
            places = torch.randint(0, classes, (count,), generator=draws)
            self.labels = torch.nn.functional.one_hot(places, classes).float()
        self.images = 0.3 * torch.randn(count, 1, size, size, generator=draws)
        for c in range(classes):
            self.images[:, 0, 3 * c : 3 * c + 3, 3 * c : 3 * c + 3] += (
                2 * self.labels[:, c, None, None]
            )
        self.known = torch.full((count, classes), not unknown)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return {
            "image": self.images[i],
            "label": self.labels[i],
            "known": self.known[i],
            "index": i,
        }


@pytest.fixture
def squares():
    return Squares


@pytest.fixture(autouse=True)
def _deterministic():
    compute_with(threads=1)
    compute_with(threads=1)  # idempotent
    yield
    torch.use_deterministic_algorithms(False)
