"""Which reader a file needs, by the end of its name."""

import hashlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from medfed.errors import BadFile, MedfedError
from medfed.evaluation.mask_files.mask import Mask, ReadOptions

__all__ = ["SUFFIXES", "content_digest", "mask_suffix", "read_mask"]

# Longest ends first: .nii.gz before .gz could ever be asked for.
_READERS = {
    ".nii.gz": "nifti:read_nifti", ".nii": "nifti:read_nifti",
    ".nrrd": "itk:read_itk", ".nhdr": "itk:read_itk", ".mha": "itk:read_itk", ".mhd": "itk:read_itk",
    ".png": "raster:read_raster", ".tif": "raster:read_raster", ".tiff": "raster:read_raster",
    ".bmp": "raster:read_raster",
    ".dcm": "dicom_seg:read_dicom_seg",
    ".npy": "arrays:read_npy", ".npz": "arrays:read_npz", ".mat": "arrays:read_mat",
    ".xml": "aperio:read_aperio", ".txt": "label_text:read_label_text",
}  # fmt: skip
SUFFIXES = tuple(_READERS)
_LOSSY = (".jpg", ".jpeg", ".webp")
CHUNK = 1 << 20


def mask_suffix(name: str) -> str | None:
    """The end of a file's name that says its format; None for a file that is no mask."""
    lowered = name.lower()
    return next((suffix for suffix in SUFFIXES if lowered.endswith(suffix)), None)


def read_mask(
    path: Path,
    options: ReadOptions | None = None,
    *,
    size: tuple[int, int] | None = None,
) -> Mask:
    """Read a mask, a label map or an instance map of any known format.

    A folder is read as one instance map whose files are its objects.

    Args:
        path: a file, or a folder of one mask an object.
        options: choices that some files need.
        size: (rows, columns) of the image, for polygons.

    Raises:
        BadFile: the file is missing, damaged, no mask, or of an unknown format; the text says what
            to do about it.
        DependencyMissing: the format needs a package that is not installed.
    """
    options = options or ReadOptions()
    if path.is_dir():
        from medfed.evaluation.mask_files.object_folder import read_object_folder

        return read_object_folder(path, options)
    if not path.is_file():
        raise BadFile(f"{path}: there is no such file.")
    reader = _reader(path)
    try:
        return reader(path, options, size)
    except MedfedError:
        raise
    except MemoryError:
        raise BadFile(f"{path.name}: does not fit into memory.") from None
    except Exception as error:
        # Format libraries raise whatever a damaged file makes them trip over.
        raise BadFile(
            f"{path.name}: cannot be read ({type(error).__name__}: {error}). It may be damaged or cut off."
        ) from error


def _reader(path: Path) -> Callable[[Path, ReadOptions, tuple[int, int] | None], Mask]:
    suffix = mask_suffix(path.name)
    if suffix is None:
        if path.suffix.lower() in _LOSSY:
            raise BadFile(
                f"{path.name}: lossy compression changes labels at every edge; save masks as PNG."
            )
        raise BadFile(f"{path.name}: unknown format (known: {', '.join(SUFFIXES)}).")
    module, _, function = _READERS[suffix].partition(":")
    reader: Callable[[Path, ReadOptions, tuple[int, int] | None], Mask] = getattr(
        import_module(f"medfed.evaluation.mask_files.{module}"), function
    )
    return reader


def content_digest(path: Path) -> str:
    """Sha256 of a file's bytes, or of a folder's names and bytes, in hexadecimal.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.sha256()
    files = sorted(p for p in path.iterdir() if p.is_file()) if path.is_dir() else [path]
    for file in files:
        if file != path:
            digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while block := stream.read(CHUNK):
                digest.update(block)
    return digest.hexdigest()
