"""Networks: a name and JSON arguments in, a module out."""

from medfed.job import NetworkSpec
from medfed.networks.catalogue import Parts, build, describe, names, parts

__all__ = ["NetworkSpec", "Parts", "build", "describe", "names", "parts"]
