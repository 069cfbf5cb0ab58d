"""What each label of a dataset becomes in a job's vocabulary."""

from dataclasses import dataclass

import numpy as np

from medfed.data.cases import Cases
from medfed.data.kinds import open_dataset, source_labels
from medfed.data.site import Site
from medfed.data.vocabulary import Vocabulary

__all__ = ["Mapping", "mapping"]


@dataclass(frozen=True, slots=True)
class Mapping:
    """One dataset's labels.

    Args:
        alias: of the dataset.
        kind: of the dataset.
        task: name of the vocabulary.
        source: label as the dataset writes it -> how often.
        becomes: label of the mapping -> class, or "" where it is left out.
        classes: class -> positive, negative and unknown cases.
        unknown: classes that this dataset never annotates.
    """

    alias: str
    kind: str
    task: str
    source: dict[str, int]
    becomes: dict[str, str]
    classes: dict[str, dict[str, int]]
    unknown: tuple[str, ...]


def mapping(site: Site, alias: str, vocabulary: Vocabulary) -> Mapping:
    """Open a dataset and follow its labels; no pixels of labelled cases are read.

    Raises:
        DataError: the dataset cannot be opened.
    """
    kind = site.dataset(alias).kind
    cases = open_dataset(site, alias, vocabulary)
    names = vocabulary.classes
    if isinstance(cases, Cases):
        becomes = {
            label: "" if column is None else names[column]
            for label, column in vocabulary.columns(kind).items()
        }
        counts = {name: _counts(cases.labels[:, c]) for c, name in enumerate(names)}
        known = cases.annotated
    else:
        known = cases.known
        becomes = {
            f"{label_set} {value}": ", ".join(covered)
            for label_set, values in vocabulary.regions.items()
            for value, covered in values.items()
        }
        counts = {}
    unknown = tuple(name for name, is_known in zip(names, known, strict=True) if not is_known)
    return Mapping(
        alias, kind, vocabulary.name, source_labels(site, alias), becomes, counts, unknown
    )


def _counts(column: np.ndarray) -> dict[str, int]:
    return {
        "positive": int((column == 1).sum()),
        "negative": int((column == 0).sum()),
        "unknown": int((column < 0).sum()),
    }
