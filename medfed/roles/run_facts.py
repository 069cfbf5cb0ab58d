"""What a run is, for its record and its report."""

import platform
from importlib.metadata import version

import torch
from torch import Tensor

import medfed
from medfed.data import Site
from medfed.job import Job, NetworkSpec
from medfed.networks import build
from medfed.report import RunFacts
from medfed.roles.shared_sets import SharedSets

__all__ = ["facts_of"]

SELECTION = {
    "agreement": "the epoch that agrees best with the ensemble on held-out public images; no label was used",
    "vote": "the candidate that the sites' own validation patients score best; no test label was used",
}


def facts_of(
    job: Job, shared: SharedSets, site: Site, environment: str, taught_by: Tensor | None
) -> RunFacts:
    """The facts of a FedKD run.

    Args:
        job: what is run.
        shared: the server's public and benchmark images.
        site: the server's own site.toml.
        environment: local, sim, poc or prod.
        taught_by: (N, C) the ensemble, once it is known; nan columns are dropped classes.
    """
    vocabulary, benchmark = shared.vocabulary, shared.benchmark
    kinds = {spec.kind for spec in site.datasets.values()}
    dropped: tuple[str, ...] = ()
    if taught_by is not None:
        empty = torch.isnan(taught_by).all(dim=0).tolist()
        dropped = tuple(name for name, gone in zip(vocabulary.classes, empty, strict=True) if gone)
    noise = job.fedkd.noise
    return RunFacts(
        name=job.name,
        method=job.method,
        environment=environment,
        task=job.task,
        task_kind=vocabulary.label_kind,
        classes=vocabulary.classes,
        sites=tuple(sorted(job.federation.sites)),
        seed=job.seed,
        synthetic=any(kind.startswith("phantom") for kind in kinds),
        data=f"{vocabulary.title}; kinds of dataset at the server: {', '.join(sorted(kinds))}",
        weighting=job.fedkd.weight_by,
        selection=SELECTION[job.distillation.select_by],
        dropped=dropped,
        mapping=vocabulary.sources,
        public_cases=len(shared.public),
        benchmark_cases=len(benchmark) if benchmark is not None else 0,
        benchmark_patients=len(set(benchmark.patients)) if benchmark is not None else 0,
        networks=_networks(job),
        student_bytes=_bytes(job.networks.student, job.image.channels, len(vocabulary.classes)),
        noise="none"
        if noise.mechanism == "none"
        else f"{noise.mechanism}, scale {noise.scale}, at the {noise.where}",
        versions={
            "medfed": medfed.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("torch", "monai")},
        },
    )


def _networks(job: Job) -> dict[str, str]:
    parties = {site: job.networks.of(site) for site in sorted(job.federation.sites)}
    named = {
        "student": job.networks.student,
        **(parties if len(parties) <= 12 else {"sites": job.networks.site}),
    }
    return {party: _words(spec) for party, spec in named.items()}


def _words(spec: NetworkSpec) -> str:
    args = ", ".join(f"{key}={value}" for key, value in spec.args.items())
    return f"{spec.name} ({args})" if args else spec.name


def _bytes(spec: NetworkSpec, channels: int, classes: int) -> int:
    """Bytes of a network's weights and buffers, as weight averaging would send them."""
    network = build(spec, in_channels=channels, classes=classes, seed=0)
    return sum(value.numel() * value.element_size() for value in network.state_dict().values())
