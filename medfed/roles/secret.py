"""What only one party knows, and what its noise is drawn from."""

import secrets
from pathlib import Path

from medfed.data import Site
from medfed.files import write_atomically

__all__ = ["secret_of"]


def secret_of(site: Site, state_dir: Path) -> str:
    """A party's secret: from its site.toml, or made at random once and kept with its state.

    Args:
        site: the party's own site.toml.
        state_dir: folder that outlives the process.
    """
    if site.secret:
        return site.secret
    path = state_dir / "secret"
    if not path.exists():
        write_atomically(path, secrets.token_hex(32).encode())
    return path.read_text(encoding="utf-8")
