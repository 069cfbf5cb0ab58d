"""The site's own log: what medfed says at a site, in a file that stays there.

NVFlare streams a site's error log to the server unless the site forbids it, and medfed's local
texts may name files. So they are kept out of NVFlare's logs altogether.
"""

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

__all__ = ["keep_log_at_site"]

MOST_BYTES = 10 << 20  # and one older file beside it


def keep_log_at_site(folder: Path, name: str) -> Path:
    """Send all that medfed logs in this process to one file of a folder only; gives the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    logger = logging.getLogger("medfed")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    if not any(
        getattr(handler, "baseFilename", None) == str(path.absolute())
        for handler in logger.handlers
    ):
        handler = RotatingFileHandler(path, maxBytes=MOST_BYTES, backupCount=1, encoding="utf-8")
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(handler)
    return path
