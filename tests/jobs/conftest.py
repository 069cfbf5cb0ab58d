import pytest

from medfed.job import Job

pytest.importorskip("nvflare", reason="the flare extra is not installed")


@pytest.fixture
def job():
    return Job.model_validate(
        {
            "name": "tiny",
            "method": "fedkd",
            "task": "cxr14",
            "federation": {"sites": ["site-1", "site-2"]},
            "networks": {"student": {"name": "cnn"}, "site": {"name": "cnn"}},
            "fedkd": {"weight_by": "uniform"},
        }
    )
