"""`medfed list`: what a job or a site can name."""

from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table

__all__ = ["main", "show"]

Topic = Literal["methods", "tasks", "networks", "datasets", "all"]


def main(argv: list[str]) -> int:
    """Parse and run."""
    return tyro.cli(show, args=argv, prog="medfed list")


def show(topic: Annotated[Topic, tyro.conf.Positional] = "all") -> int:
    """Print names that job.toml and site.toml may use.

    Args:
        topic: methods, tasks and networks are named by job.toml; datasets by site.toml.
    """
    sources = {"methods": _methods, "tasks": _tasks, "networks": _networks, "datasets": _datasets}
    console = Console()
    for name, source in sources.items():
        if topic in (name, "all"):
            table = Table("name", "what it is", title=name, title_justify="left")
            for key, text in source().items():
                table.add_row(key, text)
            console.print(table)
    return 0


def _methods() -> dict[str, str]:
    from medfed.roles.registry import METHODS

    return METHODS


def _tasks() -> dict[str, str]:
    from medfed.data import Vocabulary

    found = {name: Vocabulary.load(name) for name in Vocabulary.names()}
    return {
        name: f"{v.kind.replace('_', '-')}, {len(v.classes)} classes: {', '.join(v.classes)}"
        for name, v in found.items()
    }


def _networks() -> dict[str, str]:
    from medfed.networks import describe, names

    return {name: describe(name) for name in names()}


def _datasets() -> dict[str, str]:
    from medfed.data import dataset_kinds

    return dict(dataset_kinds())
