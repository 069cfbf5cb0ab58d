"""The report of `medfed data check` as plain values, and the only part of it that a job would share."""

from pathlib import Path
from typing import Any

from medfed.data.cases import Cases
from medfed.data.remarks import Remark
from medfed.data.site import Site
from medfed.data.survey import Survey
from medfed.data.vocabulary import Vocabulary
from medfed.errors import MedfedError
from medfed.privacy.policy import rounded_counts

__all__ = ["failed", "report", "shared"]


def report(
    found: Survey,
    said: list[Remark],
    site: Site,
    vocabulary: Vocabulary,
    *,
    sheet: Path | None,
    workers: int,
) -> dict[str, Any]:
    """Everything about one dataset; for the site's own eyes, except `shared`."""
    readable = found.readable
    seconds = sum(fact.seconds for fact in readable)
    return {
        "alias": found.alias,
        "kind": found.kind,
        "task": vocabulary.name,
        "items": len(found.facts),
        "patients": len(set(found.cases.patients)),
        "readable": len(readable),
        "unreadable": [{"case": fact.name, "reason": fact.problem} for fact in found.unreadable],
        "labels": found.label_counts(),
        "sizes": found.counted("size"),
        "modes": found.counted("mode"),
        "spacings_mm": found.counted("spacing_mm"),
        "orientations": found.counted("orientation"),
        "intensity": _intensity(found),
        "duplicates": found.duplicates(),
        "first_epoch_s": round(seconds / max(workers, 1), 2),
        "images_per_s": round(len(readable) / max(found.wall_s, 1e-9), 1),
        "memory_mib": round(found.cached_mib, 1),
        "memory_limit_mib": site.compute.cache_mib,
        "sheet": str(sheet) if sheet else None,
        "remarks": [{"level": remark.level, "text": remark.text} for remark in said],
        "shared": shared(found, site),
    }


def failed(alias: str, kind: str, error: MedfedError) -> dict[str, Any]:
    """The report of a dataset that could not even be opened."""
    return {
        "alias": alias,
        "kind": kind,
        "items": 0,
        "remarks": [{"level": "error", "text": error.local}],
        "shared": {"if_the_job_stops": error.upstream},
    }


def shared(found: Survey, site: Site) -> dict[str, Any]:
    """What a job may learn about this dataset under the site's policy; counts are rounded, small ones to 0.

    With `label_counts = false` in [privacy] it is nothing.
    """
    if not site.privacy.label_counts:
        return {}
    cell = site.privacy.small_cell
    counts = found.label_counts()
    positives = rounded_counts([row["positive"] for row in counts.values()], cell)
    annotated = rounded_counts([row["positive"] + row["negative"] for row in counts.values()], cell)
    return {
        "rounded_to": cell,
        "samples": rounded_counts([len(found.readable)], cell)[0],
        "positives": dict(zip(counts, positives, strict=True)),
        "annotated": dict(zip(counts, annotated, strict=True)),
    }


def _intensity(found: Survey) -> dict[str, float]:
    readable = found.readable
    if not readable:
        return {}
    digits = 3
    values = {
        "lowest": min(fact.low for fact in readable),
        "mean": sum(fact.mean for fact in readable) / len(readable),
        "highest": max(fact.high for fact in readable),
    }
    if isinstance(found.cases, Cases):
        values["darkest_image"] = min(fact.mean for fact in readable)
        values["brightest_image"] = max(fact.mean for fact in readable)
    return {name: round(value, digits) + 0.0 for name, value in values.items()}
