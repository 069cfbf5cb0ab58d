"""job.toml: what a data scientist submits, checked once at the door.

Every table is a frozen pydantic model; the models are the flags, the schema and the documentation. A
constructor takes JSON values only, so a whole job travels to a site as one JSON text.
"""

import difflib
import hashlib
import json
import tomllib
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from medfed.errors import ConfigError

__all__ = [
    "DataAliases",
    "DistillationParams",
    "FedKDParams",
    "Federation",
    "ImageParams",
    "Job",
    "NetworkSpec",
    "Networks",
    "NoiseParams",
    "StrictModel",
    "TrainingParams",
    "read_toml_model",
    "validate_model",
]

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]
Model = TypeVar("Model", bound=BaseModel)


class StrictModel(BaseModel):
    """A frozen table that refuses unknown keys and converts nothing silently."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Federation(StrictModel):
    """Who takes part."""

    sites: tuple[Name, ...] = Field(min_length=1, max_length=10_000, strict=False)
    min_sites: int = Field(1, ge=1, description="fewest sites whose logits make a student")
    deadline_s: float = Field(
        600.0, gt=0, description="longest wait for an answer to a short question; training has none"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(set(self.sites)) != len(self.sites):
            raise ValueError("sites: a name stands twice; give each site its own name")
        if self.min_sites > len(self.sites):
            raise ValueError(
                f"min_sites is {self.min_sites} but only {len(self.sites)} sites are named"
            )
        return self


class DataAliases(StrictModel):
    """Aliases that every site's site.toml must define; never paths."""

    train: Name = "train"
    public: Name = "public"
    benchmark: Name | None = Field(
        None, description="labelled at the server only; scored, never trained on"
    )
    validation_share: float = Field(0.2, gt=0, lt=0.9, description="share of a site's patients")


class ImageParams(StrictModel):
    """The one image pipeline of the job."""

    size: int = Field(64, ge=8, le=1024, description="edge in pixels after resizing")
    channels: Literal[1, 3] = 1
    mean: float = 0.5
    std: float = Field(0.5, gt=0)


class NetworkSpec(StrictModel):
    """A network by name with JSON arguments; `medfed list networks` shows them."""

    name: Name
    args: dict[str, bool | int | float | str | list[int] | list[float]] = Field(
        default_factory=dict
    )


class Networks(StrictModel):
    """Which network each party uses; sites may differ from each other and from the student."""

    student: NetworkSpec
    site: NetworkSpec = Field(
        description="the network of every site that is not named under `sites`"
    )
    sites: dict[Name, NetworkSpec] = Field(default_factory=dict)

    def of(self, site: str) -> NetworkSpec:
        """The network of one site."""
        return self.sites.get(site, self.site)


class TrainingParams(StrictModel):
    """A site's local training."""

    epochs: int = Field(30, ge=1, le=100_000)
    batch_size: int = Field(32, ge=1, le=65_536)
    learning_rate: float = Field(1e-3, gt=0)
    weight_decay: float = Field(1e-4, ge=0)
    optimiser: Literal["adam", "sgd"] = "adam"
    patience: int = Field(
        8, ge=1, description="epochs without a better validation loss before the stop"
    )
    class_weighting: Literal["none", "inverse"] = "none"
    augment: Literal["none", "flip_shift"] = "none"
    mixed_precision: bool = Field(False, description="on a GPU only")


class NoiseParams(StrictModel):
    """Noise on the logits, drawn once per (case, class)."""

    mechanism: Literal["none", "laplace", "gaussian"] = "none"
    scale: float = Field(0.0, ge=0, description="Laplace b = 1/gamma, or the Gaussian's deviation")
    where: Literal["site", "aggregate"] = "site"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.mechanism == "none") != (self.scale == 0):
            raise ValueError(
                'noise: mechanism "none" goes with scale 0, any other with a scale above 0'
            )
        return self


class FedKDParams(StrictModel):
    """FedKD's options; defaults are the recommended ones, the paper's are named beside them."""

    weight_by: Literal["positives", "annotated", "samples", "uniform"] = "positives"
    levels: int = Field(256, ge=0, le=65_536, description="S; 0 sends float32")
    quantiser: Literal["public_bound", "paper"] = "public_bound"
    bound: float = Field(8.0, gt=0, description="B, a public constant")
    confidence: Literal["none", "entropy", "outlier"] = Field(
        "none", description="per-case weights that repair disjoint classes"
    )
    calibrate: bool = Field(
        False, description="temperature-scale each head on local validation cases"
    )
    noise: NoiseParams = NoiseParams()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.levels == 1:
            raise ValueError("levels: 1 carries no information; use 2 or more, or 0 for float32")
        if self.quantiser == "paper" and self.levels == 0:
            raise ValueError('quantiser "paper" needs levels of 2 or more')
        return self


class DistillationParams(StrictModel):
    """The student's training on the public set."""

    epochs: int = Field(60, ge=1, le=100_000)
    batch_size: int = Field(64, ge=1, le=65_536)
    learning_rate: float = Field(1e-3, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    loss: Literal["l2", "l1", "kl", "bce"] = "l2"
    temperature: float = Field(1.0, gt=0)
    augment: Literal["none", "flip_shift"] = "none"
    held_out_share: float = Field(0.1, gt=0, lt=0.9, description="public cases kept for choosing")
    select_by: Literal["agreement", "vote"] = "agreement"
    vote_candidates: int = Field(3, ge=1, le=20)
    mixed_precision: bool = False


class Job(StrictModel):
    """A whole job.toml."""

    schema_version: Literal[1] = Field(1, alias="schema")
    name: Name
    method: Literal["fedkd"]
    task: Name
    seed: int = Field(0, ge=0, lt=1 << 53)
    threads: int = Field(1, ge=1, le=256, description="CPU threads a party computes with")
    federation: Federation
    data: DataAliases = DataAliases()
    image: ImageParams = ImageParams()
    networks: Networks
    training: TrainingParams = TrainingParams()
    fedkd: FedKDParams = FedKDParams()
    distillation: DistillationParams = DistillationParams()

    model_config = ConfigDict(populate_by_name=True)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        unknown = sorted(set(self.networks.sites) - set(self.federation.sites))
        if unknown:
            raise ValueError(f"networks.sites names {unknown}, which federation.sites does not")
        return self

    @classmethod
    def read(cls, path: Path) -> "Job":
        """The job in a job.toml.

        Raises:
            ConfigError: the file is missing, is not TOML, or a key of it is wrong.
        """
        return read_toml_model(path, cls)

    @classmethod
    def from_json(cls, text: str, *, source: str = "job") -> "Job":
        """The job in a JSON text, as an NVFlare job carries it."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{source}: the job is not valid JSON.") from error
        return validate_model(cls, values, source)

    def to_json(self) -> str:
        """The job as one JSON text."""
        return self.model_dump_json(by_alias=True)

    def fingerprint(self) -> str:
        """Sixteen hex digits that change with any value of the job."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def run_id(self) -> str:
        """Names one run's saved state: the job's name and its fingerprint."""
        return f"{self.name}-{self.fingerprint()}"


def read_toml_model(path: Path, model: type[Model]) -> Model:
    """A TOML file checked against a pydantic model.

    Raises:
        ConfigError: names the file, the key, what is allowed, and the nearest known key.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}). Check the path.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text. Save it as UTF-8.") from error
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not valid TOML: {error}.") from error
    return validate_model(model, values, str(path))


def validate_model(model: type[Model], values: object, source: str) -> Model:
    """Values checked against a model; an error lists every wrong key of `source` at once."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        lines = [_explain(model, item, source) for item in error.errors(include_url=False)]
        raise ConfigError("\n".join(lines)) from None


def _explain(model: type[BaseModel], item: Any, source: str) -> str:  # noqa: ANN401 - pydantic's dict
    where = ".".join(str(part) for part in item["loc"]) or "the file"
    if item["type"] == "extra_forbidden":
        known = sorted(_keys_at(model, item["loc"][:-1]))
        close = difflib.get_close_matches(str(item["loc"][-1]), known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        return f"{source}: {where}: unknown key (allowed: {', '.join(known)}).{hint}"
    if item["type"] == "missing":
        return f"{source}: {where}: is missing; add it."
    message = str(item["msg"]).removeprefix("Value error, ")
    if item["type"] == "literal_error":
        allowed = item["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        close = difflib.get_close_matches(str(item["input"]), allowed, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        return f"{source}: {where}: {item['input']!r} is not allowed (allowed: {', '.join(allowed)}).{hint}"
    got = f" (got {item['input']!r})" if not isinstance(item["input"], dict | list) else ""
    return f"{source}: {where}: {message}{got}."


def _keys_at(model: type[BaseModel], location: tuple[int | str, ...]) -> set[str]:
    """The keys that a table at `location` may hold."""
    here: Any = model
    for part in location:
        here = (
            _model_in(here.model_fields[part].annotation)
            if part in getattr(here, "model_fields", {})
            else here
        )
    if here is None:
        return set()
    return {field.alias or name for name, field in here.model_fields.items()}


def _model_in(annotation: Any) -> Any:  # noqa: ANN401 - a typing construct
    """The pydantic model inside an annotation such as `dict[str, Model]` or `Model | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, UnionType, dict, list, tuple, Annotated):
        found = (_model_in(part) for part in get_args(annotation))
        return next((m for m in found if m is not None), None)
    return None
