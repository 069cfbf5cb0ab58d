"""`medfed schema`: JSON Schema of job.toml or site.toml, for editors and for reading."""

import json
from typing import Annotated, Literal

import tyro

__all__ = ["main", "schema"]


def main(argv: list[str]) -> int:
    """Parse and run."""
    return tyro.cli(schema, args=argv, prog="medfed schema")


def schema(which: Annotated[Literal["job", "site"], tyro.conf.Positional] = "job") -> int:
    """Print the JSON Schema of job.toml or site.toml.

    Args:
        which: the file whose schema is wanted.
    """
    if which == "job":
        from medfed.job import Job

        model = Job.model_json_schema(by_alias=True)
    else:
        from medfed.data import Site

        model = Site.model_json_schema(by_alias=True)
    print(json.dumps(model, indent=2))
    return 0
