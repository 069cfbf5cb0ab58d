"""site.toml: where a hospital's data lie and what may leave; read once, never sent."""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from medfed.errors import ConfigError, UnknownAlias
from medfed.job import StrictModel, read_toml_model
from medfed.privacy.policy import SitePolicy

__all__ = ["Compute", "DatasetSpec", "Site"]


class DatasetSpec(StrictModel):
    """One dataset of a site; keys beyond these belong to its kind and are checked by it."""

    model_config = ConfigDict(extra="allow")

    kind: str = Field(description="`medfed list datasets` prints the kinds")
    root: Path | None = Field(None, strict=False, description="relative to site.toml's folder")
    on_bad_file: Literal["skip", "stop"] = "skip"
    max_bad_share: float = Field(0.05, ge=0, le=1)
    patients: Path | None = Field(
        None, strict=False, description="keep only the patients this text file lists"
    )
    cases: Path | None = Field(
        None, strict=False, description="keep only the case names this text file lists"
    )

    @model_validator(mode="after")
    def _kind_options(self) -> Self:
        from medfed.data.kinds import check_options

        check_options(self.kind, self.options, has_root=self.root is not None)
        return self

    @property
    def options(self) -> dict[str, Any]:
        """The keys that belong to the kind."""
        return dict(self.model_extra or {})


class Compute(StrictModel):
    """What a site computes with."""

    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="auto takes a GPU where there is one"
    )
    cache_mib: int = Field(1024, ge=0, description="memory for decoded images; 0 decodes each time")
    cache_folder: Path | None = Field(
        None,
        strict=False,
        description="keeps decoded images between runs; it holds patients' images like the originals",
    )
    cache_folder_mib: int = Field(20_480, ge=0, description="most that cache_folder may hold")
    workers: int = Field(1, ge=1, le=256, description="threads that decode images")


class Site(StrictModel):
    """A whole site.toml."""

    schema_version: Literal[1] = Field(1, alias="schema")
    secret: str = Field(
        "", description="known to this site alone; seeds its noise. Made at random when left out"
    )
    datasets: dict[str, DatasetSpec] = Field(default_factory=dict)
    privacy: SitePolicy = SitePolicy()
    compute: Compute = Compute()

    model_config = ConfigDict(populate_by_name=True)

    @classmethod
    def read(cls, path: Path) -> "Site":
        """The site in a site.toml; relative paths are taken from its folder.

        Raises:
            ConfigError: the file is missing, is not TOML, or a key of it is wrong.
        """
        site = read_toml_model(path, cls)
        datasets = {alias: _absolute(spec, path.parent) for alias, spec in site.datasets.items()}
        compute = site.compute
        if compute.cache_folder is not None:
            kept = (path.parent / compute.cache_folder).resolve()
            compute = compute.model_copy(update={"cache_folder": kept})
        return site.model_copy(update={"datasets": datasets, "compute": compute})

    def dataset(self, alias: str) -> DatasetSpec:
        """The dataset that an alias stands for.

        Raises:
            UnknownAlias: names the alias and those there are.
        """
        if alias not in self.datasets:
            known = ", ".join(sorted(self.datasets)) or "none"
            raise UnknownAlias(
                f"site.toml has no [datasets.{alias}], which the job names (defined: {known}). "
                "Add it, or ask the job's author for another alias."
            )
        return self.datasets[alias]


def _absolute(spec: DatasetSpec, folder: Path) -> DatasetSpec:
    from medfed.data.kinds import path_options

    changed = {
        name: (folder / value).resolve()
        for name in ("root", "patients", "cases", *path_options(spec.kind))
        if (value := getattr(spec, name, None)) is not None
    }
    return spec.model_copy(update=changed)


def read_lines(path: Path) -> frozenset[str]:
    """The non-empty lines of a text file, without comments.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as a list of lines ({error}).") from error
    lines = (line.split("#", 1)[0].strip() for line in text.splitlines())
    return frozenset(line for line in lines if line)
