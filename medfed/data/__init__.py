"""Data: a site's files in, cases in the job's vocabulary out."""

from medfed.data.cases import Cases
from medfed.data.kinds import dataset_kinds, open_cases
from medfed.data.manifest import PublicManifest
from medfed.data.site import DatasetSpec, Site
from medfed.data.splits import Split, check_leakage, split_by_patient
from medfed.data.vocabulary import Vocabulary

__all__ = [
    "Cases",
    "DatasetSpec",
    "PublicManifest",
    "Site",
    "Split",
    "Vocabulary",
    "check_leakage",
    "dataset_kinds",
    "open_cases",
    "split_by_patient",
]
