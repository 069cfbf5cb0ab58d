"""The public set as a manifest of content hashes that all parties agree on.

Axes: N public cases.
"""

from dataclasses import dataclass

import numpy as np

from medfed.data.cases import Cases
from medfed.errors import ManifestMismatch

__all__ = ["PublicManifest"]


@dataclass(frozen=True, eq=False)
class PublicManifest:
    """Content hashes in the agreed order.

    Args:
        digests: (N, 32) uint8, SHA-256 of each case.
    """

    digests: np.ndarray

    @classmethod
    def of(cls, cases: Cases) -> "PublicManifest":
        """The manifest of a set, sorted by hash: it does not depend on names or folders.

        Raises:
            ManifestMismatch: an image stands twice; names both.
        """
        found = _by_digest(cases)
        ordered = sorted(found)
        return cls(np.frombuffer(b"".join(ordered), np.uint8).reshape(len(ordered), 32))

    def order(self, cases: Cases) -> np.ndarray:
        """Positions in `cases` of every manifest entry, in manifest order; (N,) int64.

        Raises:
            ManifestMismatch: an image is missing, or one is there that the manifest does not list.
        """
        found = _by_digest(cases)
        wanted = [row.tobytes() for row in self.digests]
        missing = [digest for digest in wanted if digest not in found]
        extra = (
            [cases.names[i] for digest, i in found.items() if digest not in set(wanted)]
            if (missing or len(found) != len(wanted))
            else []
        )
        if missing or extra:
            raise ManifestMismatch(
                f"{len(missing)} images of the agreed set are missing here and {len(extra)} are here that it does "
                f"not list{f' (first: {extra[0]})' if extra else ''}. Copy the set again; a file that was "
                "converted or re-compressed has another hash.",
                upstream="images of the public set are missing or differ at the site"
                if missing
                else "the site's public set holds images that the manifest does not list",
            )
        return np.array([found[digest] for digest in wanted], np.int64)


def _by_digest(cases: Cases) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    for i in range(len(cases)):
        first = found.setdefault(cases.digest(i), i)
        if first != i:
            raise ManifestMismatch(
                f"{cases.names[first]} and {cases.names[i]} are the same image. Keep one of the two.",
                upstream="an image stands twice in the public set",
            )
    return found
