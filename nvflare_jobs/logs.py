"""NVFlare's logs of a run on one machine: kept off the console, and read for causes."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

__all__ = [
    "configure_logs",
    "job_process_that_died",
    "keep_logs",
    "last_error",
    "set_earlier_logs_aside",
]

# How NVFlare's server notes that it ends a job because a site's job process did.
_DIED = re.compile(r"Failing job \S+ due to reported failure from ([\w.-]+): ")


def configure_logs(folder: Path) -> Path:
    """Write NVFlare's own logging configuration without its console, which all processes share."""
    import nvflare.fuel.utils.log_utils as log_utils

    shipped = Path(log_utils.__file__).parent / "log_config.json"
    config = json.loads(shipped.read_text(encoding="utf-8"))
    kept = ("logFileHandler", "errorFileHandler")
    config["handlers"] = {name: config["handlers"][name] for name in kept}
    config["loggers"]["root"]["handlers"] = list(kept)
    path = folder / "log_config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def set_earlier_logs_aside(logs: Path) -> None:
    """Move an earlier run's logs to `logs/earlier`, so that no cause is looked for in them."""
    earlier = logs / "earlier"
    found = list(logs.glob("*.log"))
    if found:
        earlier.mkdir(exist_ok=True)
    for path in found:
        path.replace(earlier / path.name)


def keep_logs(workspace: Path, logs: Path, parties: Sequence[str]) -> None:
    """Append every party's logs to `logs/PARTY.log`, before the workspace goes."""
    logs.mkdir(parents=True, exist_ok=True)
    for party in parties:
        with (logs / f"{party}.log").open("ab") as target:
            for path in sorted((workspace / party).rglob("log.txt")):
                with path.open("rb") as source:
                    shutil.copyfileobj(source, target)


def job_process_that_died(logs: Path) -> str | None:
    """The site whose job process died, where NVFlare's server noted one."""
    found = [m.group(1) for line in _lines(logs / "server.log") if (m := _DIED.search(line))]
    return found[-1] if found else None


def last_error(logs: Path) -> str:
    """The last error in any party's log, shortened."""
    errors = [
        line
        for path in sorted(logs.glob("*.log"))
        for line in _lines(path)
        if " - ERROR - " in line
    ]
    return errors[-1][:400] if errors else "no error was logged"


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
