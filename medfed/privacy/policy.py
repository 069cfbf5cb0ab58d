"""A site's policy: the [privacy] table of site.toml. Pure data and pure checks."""

from typing import Literal

from pydantic import Field

from medfed.errors import GateRefusal
from medfed.job import Job, StrictModel

__all__ = ["NoiseFloor", "SitePolicy", "check_job", "rounded_counts"]

DEFAULT_KINDS = (
    "opened",
    "trained",
    "range_answer",
    "logits",
    "vote_answer",
    "closed",
    "refusal",
    "progress",
)


class NoiseFloor(StrictModel):
    """The least noise that a job must put on this site's logits, at the site."""

    mechanism: Literal["none", "laplace", "gaussian"] = "none"
    scale: float = Field(0.0, ge=0)


class SitePolicy(StrictModel):
    """What may leave this site; no job can loosen it."""

    methods: tuple[str, ...] = Field(("fedkd",), strict=False)
    kinds: tuple[str, ...] = Field(DEFAULT_KINDS, strict=False)
    label_counts: bool = Field(False, description="whether rounded label counts may leave")
    small_cell: int = Field(10, ge=1, description="counts leave rounded to multiples of this")
    largest_bound: float = Field(20.0, gt=0, description="widest logit range that may leave")
    most_levels: int = Field(65_536, ge=2, description="finest quantiser; float32 counts as 2**32")
    noise_floor: NoiseFloor = NoiseFloor()
    most_public_cases: int = Field(1_000_000, ge=1, description="public cases answered in one run")


def check_job(policy: SitePolicy, job: Job, *, site: str) -> None:
    """Refuse, before any training, a job that asks for less protection than the site demands.

    Raises:
        GateRefusal: names the rule on both sides, since a rule's name tells nothing about a patient.
    """
    wanted, floor = job.fedkd, policy.noise_floor
    levels = wanted.levels or 1 << 32
    rules = [
        (job.method in policy.methods, "methods", f"the method {job.method!r} is not among {list(policy.methods)}"),
        (
            policy.label_counts or wanted.weight_by in ("uniform",),
            "label_counts",
            f'weight_by "{wanted.weight_by}" needs counts, which may not leave; use weight_by = "uniform"',
        ),
        (
            wanted.quantiser == "paper" or wanted.bound <= policy.largest_bound,
            "largest_bound",
            f"fedkd.bound {wanted.bound} is above {policy.largest_bound}",
        ),
        (levels <= policy.most_levels or (wanted.levels == 0 and policy.most_levels == 65_536),
         "most_levels", f"fedkd.levels is finer than {policy.most_levels}"),
        (
            floor.mechanism == "none"
            or (wanted.noise.mechanism == floor.mechanism and wanted.noise.where == "site"
                and wanted.noise.scale >= floor.scale),
            "noise_floor",
            f'fedkd.noise must be mechanism "{floor.mechanism}", where "site", scale >= {floor.scale}',
        ),
    ]  # fmt: skip
    for holds, rule, why in rules:
        if not holds:
            raise GateRefusal(
                f"{site}: [privacy] {rule} in site.toml refuses job {job.name!r}: {why}.",
                upstream=f"site policy rule {rule}: {why}",
            )


def rounded_counts(counts: "list[int]", small_cell: int) -> "list[int]":
    """Counts rounded to the nearest multiple of `small_cell`, so that none is exact.

    >>> rounded_counts([0, 3, 7, 104], 10)
    [0, 0, 10, 100]
    """
    return [small_cell * ((2 * int(n) + small_cell) // (2 * small_cell)) for n in counts]
