"""`medfed data`: check a site's data before a job, and see what its labels become."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from medfed.errors import ConfigError, DataError, MedfedError

if TYPE_CHECKING:
    from medfed.data import Site, Vocabulary
    from medfed.data.survey import Survey

__all__ = ["check", "main", "map_labels"]

SitePath = Annotated[Path, tyro.conf.Positional]


def main(argv: list[str]) -> int:
    """Parse and run."""
    verbs = {"check": check, "map": map_labels}
    return int(tyro.extras.subcommand_cli_from_dict(verbs, args=argv, prog="medfed data"))


def check(
    site: SitePath,
    *,
    alias: str = "",
    task: str = "",
    size: int = 224,
    workers: int = 0,
    sheets: Path | None = None,
    json: bool = False,
    strict: bool = False,
) -> int:
    """Read every dataset of a site.toml and say what a job would find. Nothing is sent anywhere.

    Exit code 0: usable. 3: a job would stop. With --strict, 1 when there are warnings.

    Args:
        site: the site's site.toml.
        alias: check this dataset only.
        task: label vocabulary; left out, each kind's usual one.
        size: edge to which a job would resize, for the times and the memory.
        workers: threads; 0 takes [compute] workers of site.toml.
        sheets: folder for a contact sheet of each dataset; they show patients' images.
        json: print one JSON text instead of tables.
        strict: warnings count.
    """
    from medfed.data import Site

    read = Site.read(site)
    reports = [
        _check_one(
            read,
            name,
            task=task,
            size=size,
            workers=workers or read.compute.workers,
            sheets=sheets,
            quiet=json,
        )
        for name in _aliases(read, alias)
    ]
    if json:
        print(_json(reports))
    else:
        from medfed.cli.data_tables import show_report

        for report in reports:
            show_report(report)
    levels = {remark["level"] for report in reports for remark in report["remarks"]}
    if "error" in levels:
        return DataError.exit_code
    return 1 if strict and "warning" in levels else 0


def map_labels(site: SitePath, *, alias: str = "", task: str = "", json: bool = False) -> int:
    """Show what each label of a dataset becomes in the job's vocabulary, and what stays unknown.

    Args:
        site: the site's site.toml.
        alias: this dataset only.
        task: label vocabulary; left out, each kind's usual one.
        json: print one JSON text instead of tables.
    """
    from medfed.cli.data_tables import show_mapping
    from medfed.data import Site
    from medfed.data.mapping import mapping

    read = Site.read(site)
    maps = [mapping(read, name, _vocabulary(read, name, task)) for name in _aliases(read, alias)]
    if json:
        print(_json([asdict(found) for found in maps]))
    else:
        for found in maps:
            show_mapping(found)
    return 0


def _check_one(
    site: "Site",
    alias: str,
    *,
    task: str,
    size: int,
    workers: int,
    sheets: Path | None,
    quiet: bool,
) -> dict[str, Any]:
    from medfed.data.kinds import open_dataset
    from medfed.data.preflight import failed, report
    from medfed.data.remarks import remarks
    from medfed.data.survey import survey
    from medfed.transforms import ImagePipeline

    spec = site.datasets[alias]
    try:
        vocabulary = _vocabulary(site, alias, task)
        cases = open_dataset(site, alias, vocabulary)
        with _progress(alias, quiet=quiet) as told:
            found = survey(
                alias,
                spec.kind,
                cases,
                vocabulary.classes,
                pipeline=ImagePipeline(size),
                workers=workers,
                progress=told,
            )
    except MedfedError as error:
        return failed(alias, spec.kind, error)
    sheet = _sheet(found, sheets) if sheets else None
    return report(found, remarks(found, spec), site, vocabulary, sheet=sheet, workers=workers)


def _vocabulary(site: "Site", alias: str, task: str) -> "Vocabulary":
    from medfed.data import Vocabulary
    from medfed.data.kinds import usual_vocabulary

    kind = site.dataset(alias).kind
    found = Vocabulary.load(task) if task else usual_vocabulary(site, alias)
    if found is None:
        raise ConfigError(
            f"[datasets.{alias}] is of kind {kind!r}, whose labels depend on the job: name its vocabulary with --task "
            f"({', '.join(Vocabulary.names())})."
        )
    return found


def _aliases(site: "Site", alias: str) -> list[str]:
    if alias:
        site.dataset(alias)
        return [alias]
    if not site.datasets:
        raise ConfigError("site.toml defines no dataset; add a [datasets.NAME] table.")
    return sorted(site.datasets)


def _sheet(found: "Survey", folder: Path) -> Path | None:
    from medfed.data.contact_sheet import write_sheet

    pictures = [(fact.name, fact.picture) for fact in found.readable if fact.picture is not None]
    if not pictures:
        return None
    path = folder / f"{found.alias}.png"
    try:
        write_sheet(path, pictures)
    except OSError as error:
        raise ConfigError(f"--sheets {folder}: cannot be written ({error.strerror}).") from error
    return path


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str)


class _progress:  # noqa: N801 - reads as a phrase: with _progress(...) as told
    """A progress bar on stderr; silent where stderr is no terminal or JSON is wanted."""

    def __init__(self, alias: str, *, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        console: Console = Console(stderr=True, quiet=quiet)
        self._bar = Progress(
            "{task.description}",
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task(f"reading {alias}", total=None)

    def __enter__(self) -> Any:  # noqa: ANN401 - the callback
        self._bar.start()
        return lambda done, total: self._bar.update(self._task, completed=done, total=total)

    def __exit__(self, *exc: object) -> None:
        self._bar.stop()
