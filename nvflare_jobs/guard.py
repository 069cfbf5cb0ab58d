"""The guard of a run: `python -m medfed.nvflare_jobs.guard MARK` ends what the mark marks.

It waits for its standard input to end, which happens when the process that started it does.
"""

import sys

from medfed.nvflare_jobs.processes import end_marked

__all__ = ["main"]


def main(mark: str) -> None:
    """Wait, then end every process with this mark."""
    sys.stdin.read()
    end_marked(mark)


if __name__ == "__main__":
    main(sys.argv[1])
