"""Frames over a pipe: what an executor and the process of its site role say to each other."""

import struct
import threading
from typing import BinaryIO

__all__ = ["ANSWER", "PROGRESS", "QUESTION", "SETUP", "STOP", "FrameWriter", "read_frame"]

SETUP, QUESTION, STOP, ANSWER, PROGRESS = b"I", b"Q", b"S", b"A", b"P"
_HEAD = struct.Struct(">cQ")  # kind, then the length of what follows


class FrameWriter:
    """Writes whole frames, from any thread."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._lock = threading.Lock()

    def write(self, kind: bytes, data: bytes = b"") -> None:
        """Write one frame.

        Raises:
            OSError: the other side has ended.
        """
        with self._lock:
            self._file.write(_HEAD.pack(kind, len(data)))
            self._file.write(data)
            self._file.flush()


def read_frame(file: BinaryIO) -> tuple[bytes, bytes] | None:
    """Kind and contents of the next frame; None once the other side has ended."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    kind, length = _HEAD.unpack(head)
    data = file.read(length)
    return (kind, data) if len(data) == length else None
