"""Cases over processes. A process that dies costs the case it held, and no other.

Processes are spawned, not forked: numba and SimpleITK hold threads that a fork would break. A script
that calls this must guard its entry with `if __name__ == "__main__":`.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from medfed.evaluation.folders.case import CaseResult, scored_case, unscored
from medfed.evaluation.folders.pairing import Pair
from medfed.evaluation.folders.settings import Settings
from medfed.evaluation.mask_files import content_digest

__all__ = ["Done", "cores", "done_cases"]

Done = tuple[str, CaseResult | None]  # the key, and None where the known result still holds
AHEAD = 2  # cases handed out for each process: the next is there when one ends
FEW_CASES = 8  # starting a process costs about as much as scoring this many small cases
THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
    "ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS",
)  # fmt: skip
Task = tuple[Pair, str]


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def done_cases(
    tasks: Sequence[Task], settings: Settings, version: str, workers: int
) -> Iterator[tuple[Pair, Done]]:
    """Score every case, in any order.

    Args:
        tasks: pairs, each with the key of its known result or an empty one.
        settings: how to score.
        version: of medfed; part of a key.
        workers: processes; 0 for as many as there are processors, or this process alone where the
            cases are few.

    Yields:
        The pair, its key, and its result; None where the known result still holds.
    """
    if workers == 0:
        workers = 1 if len(tasks) <= FEW_CASES else min(cores(), len(tasks))
    if workers == 1:
        for task in tasks:
            yield task[0], _work(task, settings, version)
        return
    suspects: list[Task] = []
    left = list(reversed(tasks))
    with _one_thread_each():
        while left:
            yield from _until_broken(left, suspects, settings, version, workers)
        for task in suspects:
            yield task[0], _alone(task, settings, version)


def _until_broken(
    left: list[Task], suspects: list[Task], settings: Settings, version: str, workers: int
) -> Iterator[tuple[Pair, Done]]:
    """Empties `left`, or stops when a process dies and leaves what it might have held in `suspects`."""
    running: dict[Future[Done], Task] = {}
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        while left or running:
            while left and len(running) < workers * AHEAD:
                task = left[-1]
                running[pool.submit(_work, task, settings, version)] = task
                left.pop()
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                done = future.result()
                yield running.pop(future)[0], done
    except BrokenProcessPool:
        for future, task in running.items():
            if future.done() and future.exception() is None:
                yield task[0], future.result()
            else:
                suspects.append(task)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _alone(task: Task, settings: Settings, version: str) -> Done:
    """A case that was in flight when a process died, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(_work, task, settings, version).result()
        except BrokenProcessPool:
            message = "its process died: out of memory, or a fault in a library"
            return "", unscored(task[0], "crashed", message)


def _work(task: Task, settings: Settings, version: str) -> Done:
    pair, known = task
    try:
        key = _key(pair, settings, version)
    except OSError as error:
        return "", unscored(pair, "failed", f"{pair.ref.name}: cannot be read ({error})")
    if key == known:
        return key, None
    return key, scored_case(pair, settings)


def _key(pair: Pair, settings: Settings, version: str) -> str:
    """Name of everything a case's scores depend on."""
    parts = [settings.fingerprint(version), pair.case, pair.patient]
    parts += [_digest(path) for path in (pair.pred, pair.ref)]
    if pair.image is not None and pair.ref.suffix.lower() == ".xml":
        parts.append(pair.image.as_posix())
    return "|".join(parts)


def _digest(path: Path | None) -> str:
    return content_digest(path) if path is not None and path.exists() else ""


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started inside compute on one thread each; together they use the processors once."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
