"""Evaluate a folder: pair, score in parallel, write down as it goes, sum up."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from medfed import __version__
from medfed.evaluation.folders.case import CaseResult, unscored
from medfed.evaluation.folders.ledger import Ledger
from medfed.evaluation.folders.pairing import Pair, Pairing
from medfed.evaluation.folders.pool import done_cases
from medfed.evaluation.folders.settings import Settings
from medfed.evaluation.folders.summary import Line, failures, summarised

__all__ = ["FolderResult", "evaluate_folder"]

Progress = Callable[[CaseResult, int, int], None]  # the case that ended, how many have, of how many


@dataclass(frozen=True, slots=True)
class FolderResult:
    """An evaluation.

    Attributes:
        results: every case, by name.
        lines: the summary.
        pairing: what was paired and what was left over.
        settings: how it was scored.
        reused: cases taken from an earlier run.
    """

    results: tuple[CaseResult, ...]
    lines: tuple[Line, ...]
    pairing: Pairing
    settings: Settings
    reused: int

    @property
    def failed(self) -> list[CaseResult]:
        """Cases without scores."""
        return failures(self.results)


def evaluate_folder(
    pairing: Pairing,
    settings: Settings,
    *,
    out: Path,
    workers: int = 0,
    resume: bool = True,
    progress: Progress | None = None,
) -> FolderResult:
    """Score every pair and write cases.csv, cases.json, summary.csv and summary.json.

    Finished cases are in cases.jsonl as soon as they are scored; a second call with the same files and
    settings takes them from there. A script that calls this with more than one worker must guard its
    entry with `if __name__ == "__main__":`.

    Args:
        pairing: what to score.
        settings: how.
        out: folder to write to.
        workers: processes; 0 for one a processor.
        resume: whether finished cases of an earlier run are used.
        progress: called after each case.

    Raises:
        RunFolderError: the folder cannot be written.
    """
    from medfed.evaluation.folders.results import write_results

    found = {case: _ambiguous(case, paths) for case, paths in pairing.ambiguous.items()}
    reused = 0
    with Ledger(out / "cases.jsonl", resume=resume) as ledger:
        tasks = [(pair, ledger.key(pair.case)) for pair in pairing.pairs]
        for pair, (key, new) in done_cases(tasks, settings, __version__, workers):
            result = ledger.known[pair.case][1] if new is None else new
            reused += new is None
            found[pair.case] = result
            if new is not None:
                ledger.add(key, new)
            if progress is not None:
                progress(result, len(found) - len(pairing.ambiguous), len(tasks))
    results = tuple(found[case] for case in sorted(found))
    lines = tuple(summarised(results, settings))
    write_results(out, results, lines, pairing, settings)
    return FolderResult(results, lines, pairing, settings, reused)


def _ambiguous(case: str, paths: tuple[Path, ...]) -> CaseResult:
    names = ", ".join(path.name for path in paths)
    pair = Pair(case, case, None, paths[0])
    return unscored(pair, "ambiguous", f"several files have this name: {names}; give a pattern.")
