"""ImageScope (Aperio) annotations: polygons as an instance map.

A vertex at (x, y) is a point of the pixel grid; pixels whose centre lies inside are filled, as
skimage.draw.polygon and MATLAB's poly2mask do but for half a pixel at the border.

Axes: H W pixels.
"""

from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

import numpy as np

from medfed.errors import BadFile
from medfed.evaluation.mask_files.mask import Mask, ReadOptions

__all__ = ["read_aperio"]


@dataclass(slots=True)
class _Polygon:
    hole: bool
    x: list[float] = field(default_factory=list)
    y: list[float] = field(default_factory=list)


def read_aperio(path: Path, options: ReadOptions, size: tuple[int, int] | None = None) -> Mask:
    """Fill every region of every layer; objects are numbered from 1 in the order of the file.

    Regions marked as a negative area of interest are holes. Where two objects share pixels, the
    later keeps them, and a note counts them.

    Args:
        path: an .xml file.
        options: not used.
        size: (rows, columns) of the image; annotations do not say it.

    Raises:
        BadFile: no size is known, other XML, or damaged.
    """
    if size is None:
        raise BadFile(
            f"{path.name}: polygons need the size of their image. Give --images, or a prediction or "
            "reference that is a picture."
        )
    polygons = _polygons(path)
    if not polygons:
        raise BadFile(f"{path.name}: no <Region> with vertices; only ImageScope XML is read.")
    from skimage.draw import polygon as inside

    whole = np.zeros(size, np.uint16 if len(polygons) < 2**16 else np.uint32)
    shared = outside = 0
    for number, outline in enumerate(polygons, start=1):
        rows, columns = inside(outline.y, outline.x, shape=size)  # type: ignore[no-untyped-call]
        if outline.hole:
            whole[rows, columns] = 0
            continue
        outside += not rows.size
        shared += int(np.count_nonzero(whole[rows, columns]))
        whole[rows, columns] = number
    return Mask(whole, notes=_notes(shared, outside))


def _notes(shared: int, outside: int) -> tuple[str, ...]:
    notes = []
    if shared:
        notes.append(f"{shared} pixels belong to several objects; the last keeps them")
    if outside:
        notes.append(f"{outside} polygons cover no pixel of the image")
    return tuple(notes)


def _polygons(path: Path) -> list[_Polygon]:
    found: list[_Polygon] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "Region":
            found.append(_Polygon(hole=attributes.get("NegativeROA", "0") == "1"))
        elif name == "Vertex" and found:
            x, y = float(attributes["X"]), float(attributes["Y"])
            if not (np.isfinite(x) and np.isfinite(y)):
                raise BadFile(f"{path.name}: a vertex at ({x}, {y}).")
            found[-1].x.append(x)
            found[-1].y.append(y)

    def refuse(*_: object) -> None:
        # Entities in a document type can grow without end or read other files.
        raise BadFile(f"{path.name}: declares a document type; annotations have none.")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(path.read_bytes(), True)
    return [outline for outline in found if len(outline.x) > 2]
