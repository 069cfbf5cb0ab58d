"""Decoded images on disk, keyed by content and pipeline, so that the next run decodes nothing."""

import os
import tempfile
import threading
import zlib
from pathlib import Path

import numpy as np

__all__ = ["ArrayStore"]

MIB = 1 << 20
MAGIC = b"MFA1"
HEADER = np.dtype([("magic", "S4"), ("crc", "<u4"), ("dimensions", "<u4"), ("shape", "<u4", (4,))])


class ArrayStore:
    """float32 arrays of up to four axes in files below one folder.

    A file is written beside and renamed, so a crash leaves no half file under a valid name; its checksum
    is verified the first time a process reads it, so a disk that lost data costs a decode, not a wrong
    image. Memory use is that of one array.

    Args:
        folder: made when missing, readable by its owner only: it holds patients' images.
        limit_mib: nothing more is written once the folder holds this much.
    """

    def __init__(self, folder: Path, limit_mib: int) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._left = limit_mib * MIB - sum(path.stat().st_size for path in folder.glob("*/*.array"))
        self._verified: set[str] = set()
        self._lock = threading.Lock()

    def get(self, key: str) -> np.ndarray | None:
        """The array under a key; None where there is none or its file is damaged."""
        try:
            data = np.fromfile(self._path(key), np.uint8)
        except OSError:
            return None
        if data.size < HEADER.itemsize:
            return None
        header = data[: HEADER.itemsize].view(HEADER)[0]
        body = data[HEADER.itemsize :]
        shape = tuple(int(n) for n in header["shape"][: int(header["dimensions"])])
        if header["magic"] != MAGIC or body.size != 4 * int(np.prod(shape)):
            return None
        if key not in self._verified:
            if zlib.crc32(body.data) != int(header["crc"]):
                return None
            self._verified.add(key)
        return body.view(np.float32).reshape(shape)

    def put(self, key: str, array: np.ndarray) -> None:
        """Keep an array; a full folder or disk keeps it not, and that is no error."""
        body = np.ascontiguousarray(array, np.float32)
        size = HEADER.itemsize + body.nbytes
        with self._lock:
            if size > self._left:
                return
            self._left -= size
        header = np.zeros(1, HEADER)
        header["magic"], header["crc"], header["dimensions"] = (
            MAGIC,
            zlib.crc32(body.tobytes()),
            body.ndim,
        )
        header["shape"][0, : body.ndim] = body.shape
        path = self._path(key)
        try:
            path.parent.mkdir(exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(handle, "wb") as file:
                file.write(header.tobytes())
                file.write(body.data)
            Path(name).replace(path)
        except OSError:
            with self._lock:
                self._left = 0

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.array"
