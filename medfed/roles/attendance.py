"""Who took part in which phase, and whether enough did."""

from collections.abc import Iterator

from medfed.errors import NotEnoughSites
from medfed.messages import Message
from medfed.report import Receipt, RunFolder
from medfed.roles.channel import Answer, Failure

__all__ = ["Attendance"]


class Attendance:
    """Writes a receipt for every answer and counts what is left.

    Args:
        folder: where receipts go.
        sites: who was named by the job.
        min_sites: fewest that a phase may end with.
    """

    def __init__(self, folder: RunFolder, sites: tuple[str, ...], *, min_sites: int) -> None:
        self._folder = folder
        self._sites = sites
        self._min_sites = min_sites
        self.failures: dict[str, Failure] = {}

    def answered(
        self, answers: Iterator[tuple[str, Answer]], phase: str
    ) -> Iterator[tuple[str, Message]]:
        """The usable answers of a phase, in order; the others get a receipt that says why."""
        for site, answer in answers:
            if isinstance(answer, Failure):
                self.failed(answer, phase)
            else:
                yield site, answer

    def took_part(self, site: str, phase: str, **versions: str) -> None:
        """Note a usable answer."""
        self._folder.record_receipt(Receipt(site, phase, "answered", versions=versions))

    def failed(self, failure: Failure, phase: str) -> None:
        """Note a site that gave no usable answer."""
        self.failures[failure.site] = failure
        self._folder.record_receipt(Receipt(failure.site, phase, failure.reason, failure.text))

    def require(self, present: int, phase: str) -> None:
        """Go on only with enough sites.

        Raises:
            NotEnoughSites: fewer than the job's min_sites; names each missing site and its reason.
        """
        if present >= self._min_sites:
            return
        reasons = "; ".join(f"{f.site}: {f.reason} ({f.text})" for f in self.failures.values())
        raise NotEnoughSites(
            f"{phase}: {present} of {len(self._sites)} sites answered and the job needs {self._min_sites}. {reasons}"
        )

    @property
    def partial(self) -> bool:
        """Whether any named site is missing from the result."""
        return bool(self.failures)
