"""Jobs as typed functions: a checked job.toml in, an NVFlare recipe or job folder out.

A job holds JSON only. Its classes live in medfed.flare, which each site has installed and
allow-listed, so no code is shipped to a site.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from medfed.errors import ConfigError
from medfed.flare.places import LARGEST_JOB
from medfed.job import Job

__all__ = ["RECIPES", "export_job", "fedkd_recipe", "recipe_of"]

FETCH_S = (
    0.25  # a question waits half of this on average; a server answers hundreds of polls in a second
)


def fedkd_recipe(job: Job, *, silence_s: float = 45.0, join_s: float = 300.0) -> Any:  # noqa: ANN401 - Recipe
    """One-shot distillation as an NVFlare recipe.

    Args:
        job: the checked job.
        silence_s: seconds without a sign of life after which the server counts a site as dead.
        join_s: seconds after the start until which a site must have been heard.

    Returns:
        A `nvflare.recipe.spec.Recipe`; its exported form holds JSON only.
    """
    from medfed.flare.controllers import FedKDController
    from medfed.flare.executors import FedKDExecutor

    text, fingerprint = _carried(job)
    controller = FedKDController(text, fingerprint, silence_s=silence_s, join_s=join_s)
    return _recipe(job, controller, lambda: FedKDExecutor(text, fingerprint))


RECIPES: dict[str, Callable[..., Any]] = {"fedkd": fedkd_recipe}


def recipe_of(job: Job, **options: float) -> Any:  # noqa: ANN401 - Recipe
    """The recipe of a job's own method."""
    return RECIPES[job.method](job, **options)


def export_job(job: Job, folder: Path, **options: float) -> Path:
    """Write a job as the folder that a provisioned NVFlare server accepts.

    Returns:
        The job's own folder, `folder/NAME`; an earlier export of the same name is replaced.

    Raises:
        ConfigError: the folder cannot be written or holds something else under the job's name.
    """
    recipe = recipe_of(job, **options)
    try:
        recipe.export(str(folder))
    except (OSError, RuntimeError) as error:
        raise ConfigError(f"{folder}: the job could not be exported: {error}") from error
    return folder / job.name


def _carried(job: Job) -> tuple[str, str]:
    text = job.to_json()
    if "${" in text:
        raise ConfigError("job: a text in it holds '${', which NVFlare would replace; take it out.")
    if len(text) > LARGEST_JOB:
        raise ConfigError(f"job: {len(text)} characters are over the limit of {LARGEST_JOB}.")
    return text, job.fingerprint()


def _recipe(job: Job, controller: Any, executor: Callable[[], Any]) -> Any:  # noqa: ANN401
    from nvflare.job_config.api import FedJob
    from nvflare.recipe.spec import Recipe

    from medfed.flare.parcel import TASKS

    fed_job = FedJob(name=job.name, min_clients=job.federation.min_sites)
    fed_job.set_app_packages(
        ["medfed"]
    )  # or NVFlare copies parts of the package into the job as code
    fed_job.to_server(controller)
    fed_job.to_server({"server": {"task_request_interval": FETCH_S}})
    for site in job.federation.sites:
        fed_job.to(executor(), site, tasks=[TASKS])
        fed_job.to({"default_task_fetch_interval": FETCH_S}, site)
    return Recipe(fed_job)
