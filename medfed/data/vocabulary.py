"""Label vocabularies: what each kind of dataset calls the job's classes, as TOML data."""

import hashlib
import json
from importlib.resources import files
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from medfed.errors import ConfigError
from medfed.job import StrictModel, validate_model

__all__ = ["Vocabulary"]

FOLDER = "medfed.data.vocabularies"


class Vocabulary(StrictModel):
    """The classes of a task, and every source label mapped to one of them or left out by name."""

    name: str
    title: str
    kind: Literal["single_label", "multi_label", "regions", "instances"]
    classes: tuple[str, ...] = Field(min_length=1, strict=False)
    sources: dict[str, dict[str, str]] = Field(
        default_factory=dict,
        description='dataset kind -> source label -> class, "" where it is left out',
    )

    regions: dict[str, dict[str, list[str]]] = Field(
        default_factory=dict,
        description="label set -> value in a mask -> classes that cover it; 0 is background",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.kind == "single_label" and len(self.classes) < 2:
            raise ValueError("a single-label task needs two classes")
        for kind, mapping in self.sources.items():
            unknown = sorted(set(mapping.values()) - {"", *self.classes})
            if unknown:
                raise ValueError(f"sources.{kind} maps to {unknown}, which are no classes")
        for label_set, values in self.regions.items():
            unknown = sorted(
                {name for names in values.values() for name in names} - {*self.classes}
            )
            if unknown or not all(value.isdigit() for value in values):
                raise ValueError(
                    f"regions.{label_set}: {unknown or list(values)} is no class or no value"
                )
        return self

    @classmethod
    def load(cls, name: str) -> "Vocabulary":
        """A vocabulary that medfed ships.

        Raises:
            ConfigError: there is none of this name; lists those there are.
        """
        import tomllib

        known = cls.names()
        if name not in known:
            raise ConfigError(f"task: {name!r} is not known (allowed: {', '.join(known)}).")
        text = (files(FOLDER) / f"{name}.toml").read_text(encoding="utf-8")
        return validate_model(cls, {"name": name, **tomllib.loads(text)}, f"vocabulary {name}")

    @staticmethod
    def names() -> tuple[str, ...]:
        """Names of all vocabularies."""
        found = (entry.name for entry in files(FOLDER).iterdir())
        return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))

    @property
    def label_kind(self) -> Literal["single_label", "multi_label"]:
        """How a case's labels relate, for a method that classifies whole images.

        Raises:
            ConfigError: the task is a segmentation.
        """
        if self.kind in ("single_label", "multi_label"):
            return self.kind
        raise ConfigError(
            f"task: {self.name!r} is a segmentation ({self.kind}); this method takes tasks that label whole images."
        )

    def fingerprint(self) -> str:
        """Sixteen hex digits that change with any class or mapping."""
        return hashlib.sha256(json.dumps(self.model_dump(), sort_keys=True).encode()).hexdigest()[
            :16
        ]

    def columns(self, kind: str) -> dict[str, int | None]:
        """Column of each label of a dataset kind; None where the vocabulary leaves it out.

        A kind that the vocabulary does not list uses the classes' own names.
        """
        if kind not in self.sources:
            return {name: column for column, name in enumerate(self.classes)}
        order = {name: column for column, name in enumerate(self.classes)}
        return {label: order.get(name) for label, name in self.sources[kind].items()}

    def region_table(self, label_set: str) -> tuple[np.ndarray, np.ndarray]:
        """What each mask value means in a label set.

        Returns:
            (V, C) bool, row v true for the classes that value v belongs to, V one above the highest value;
            and (C,) bool, the classes that the label set annotates at all. A value that the label set does
            not know has a row of false.

        Raises:
            ConfigError: the vocabulary does not know the label set.
        """
        if label_set not in self.regions:
            raise ConfigError(
                f"task {self.name!r} does not know the label set {label_set!r} (known: {sorted(self.regions)})."
            )
        values = {int(value): names for value, names in self.regions[label_set].items()}
        table = np.zeros((max(values) + 1, len(self.classes)), bool)
        for value, names in values.items():
            table[value, [self.classes.index(name) for name in names]] = True
        return table, np.asarray(table.any(axis=0))
