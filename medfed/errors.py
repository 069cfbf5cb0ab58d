"""Errors with two texts: one for the hospital, one that may leave it.

The local text may name a file, a field or a site. The upstream text is made of fixed words, so it can
be put in a message to the server without carrying a path, a case name or a small count.
"""

from typing import ClassVar

__all__ = [
    "BadFile",
    "CheckpointError",
    "ConfigError",
    "DataError",
    "DependencyMissing",
    "GateRefusal",
    "LabelNotMapped",
    "LeakageError",
    "ManifestMismatch",
    "MedfedError",
    "NonFiniteError",
    "NotEnoughSites",
    "RunFolderError",
    "SiteRefusal",
    "Stopped",
    "TooManyBadFiles",
    "UnknownAlias",
    "VersionMismatch",
    "WireError",
]


class MedfedError(Exception):
    """The root of every error that medfed raises on purpose.

    Args:
        local: what went wrong, where, what was allowed and what to do next; stays at the site.
        upstream: fixed words that may leave the site; the kind's own sentence when left out.
    """

    code: ClassVar[str] = "error"
    sentence: ClassVar[str] = "the site stopped with an error; its own log says why"
    exit_code: ClassVar[int] = 1

    def __init__(self, local: str, *, upstream: str | None = None) -> None:
        super().__init__(local)
        self.local = local
        self.upstream = self.sentence if upstream is None else upstream


class ConfigError(MedfedError):
    """A job.toml, site.toml or command-line value that cannot be used."""

    code = "config"
    sentence = "the configuration was refused"
    exit_code = 2


class UnknownAlias(ConfigError):
    """A job names a dataset alias that site.toml does not define."""

    code = "unknown_alias"
    sentence = "the job names a dataset alias that this site does not define"


class DependencyMissing(ConfigError):
    """A feature needs an extra that is not installed."""

    code = "dependency"
    sentence = "a package that the job needs is not installed"


class DataError(MedfedError):
    """A dataset that cannot be used as it is."""

    code = "data"
    sentence = "the site's data cannot be used as it is"
    exit_code = 3


class BadFile(DataError):
    """One file that cannot be read."""

    code = "bad_file"
    sentence = "a file could not be read"


class TooManyBadFiles(DataError):
    """More unreadable files than the site allows."""

    code = "too_many_bad_files"
    sentence = "more files were unreadable than the site allows"


class LabelNotMapped(DataError):
    """A label value that the vocabulary does not know."""

    code = "label_not_mapped"
    sentence = "a label value has no mapping"


class LeakageError(DataError):
    """A patient or an image that stands in two splits."""

    code = "leakage"
    sentence = "the same patient or image stands in two splits"


class ManifestMismatch(DataError):
    """A public set that differs from the one all parties agreed on."""

    code = "manifest"
    sentence = "the site's public set differs from the agreed manifest"


class NonFiniteError(MedfedError):
    """A NaN or infinity where a number must be."""

    code = "non_finite"
    sentence = "a value became NaN or infinite"
    exit_code = 4


class WireError(MedfedError):
    """A message that is forged, damaged, too large or of another version."""

    code = "wire"
    sentence = "a message could not be accepted"
    exit_code = 5


class VersionMismatch(WireError):
    """Two parties whose versions must not be mixed."""

    code = "version"
    sentence = "the site runs another version of medfed than the server"


class GateRefusal(MedfedError):
    """The site's policy refuses to let something leave."""

    code = "gate"
    sentence = "the site's policy refuses this job or message"
    exit_code = 6


class SiteRefusal(MedfedError):
    """The server's view of a site that refused a question."""

    code = "site_refusal"
    exit_code = 6


class NotEnoughSites(MedfedError):
    """Fewer sites answered than the method needs."""

    code = "not_enough_sites"
    sentence = "too few sites answered"
    exit_code = 7


class CheckpointError(MedfedError):
    """A checkpoint that is damaged or belongs to another run."""

    code = "checkpoint"
    sentence = "saved state could not be used"
    exit_code = 8


class RunFolderError(MedfedError):
    """A run folder that cannot be written or belongs to another job."""

    code = "run_folder"
    sentence = "the run folder cannot be used"
    exit_code = 8


class Stopped(MedfedError):
    """The run was asked to stop; finished work is kept."""

    code = "stopped"
    sentence = "the run was stopped"
    exit_code = 130
