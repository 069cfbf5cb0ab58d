"""The `medfed` command: finds the verb, then imports only that verb's module.

`sys.argv` is read here before anything imports nvflare.recipe, which strips --export and --export-dir
from it at import time (docs/decisions/0003).
"""

import importlib
import sys

from medfed import __version__
from medfed.errors import MedfedError

__all__ = ["VERBS", "main"]

VERBS = {
    "demo": "a first federation: four hospitals distil one chest X-ray model",
    "run": "run a job.toml here (local, sim or poc)",
    "export": "write a job as an NVFlare job folder",
    "validate": "check a job.toml, and the sites' site.toml files, before a run",
    "report": "write report.html for a run folder",
    "list": "methods, tasks, networks and datasets by name",
    "schema": "JSON Schema of job.toml or site.toml",
    "data": "check a site's data before a job, and show what its labels become",
    "evaluate": "score segmentations and classifications, and compare two sets of scores",
    "doctor": "versions, hardware and what is installed",
}


def main(argv: list[str] | None = None) -> int:
    """Run one verb; the exit code says what kind of error ended it."""
    words = sys.argv[1:] if argv is None else argv
    if not words or words[0] in ("-h", "--help"):
        print(_usage())
        return 0
    if words[0] == "--version":
        print(f"medfed {__version__}")
        return 0
    if words[0] not in VERBS:
        return _unknown(words[0])
    verb = importlib.import_module(f"medfed.cli.{words[0]}")
    try:
        return int(verb.main(words[1:]))
    except MedfedError as error:
        print(f"medfed {words[0]}: {error.local}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"medfed {words[0]}: stopped; what is finished is kept.", file=sys.stderr)
        return 130
    except ModuleNotFoundError as error:
        return _missing(words[0], error)


def _usage() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {name:<{width}}  {text}" for name, text in VERBS.items()]
    return "\n".join(
        ["usage: medfed VERB [options]", "", "Federated learning for medical imaging.", "", *lines, "",
         "`medfed VERB --help` shows a verb's options."]
    )  # fmt: skip


def _unknown(word: str) -> int:
    import difflib

    close = difflib.get_close_matches(word, VERBS, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    print(f"medfed: unknown verb {word!r} (known: {', '.join(VERBS)}).{hint}", file=sys.stderr)
    return 2


def _missing(verb: str, error: ModuleNotFoundError) -> int:
    extras = {
        "torch": "train",
        "monai": "train",
        "nvflare": "flare",
        "pydicom": "dicom",
        "dp_accounting": "privacy",
    }
    extra = extras.get(str(error.name).split(".")[0])
    if extra is None:
        raise error
    print(
        f"medfed {verb}: needs {error.name}, which is not installed. "
        f'Install it with: pip install "medfed[{extra}]".',
        file=sys.stderr,
    )
    return 2


if __name__ == "__main__":
    sys.exit(main())
