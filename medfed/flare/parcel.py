"""One medfed message as NVFlare carries it: raw bytes under one key of a Shareable.

Bytes need no FOBS registration on the receiving side and are never turned into a separate download.
"""

from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable, make_reply

from medfed.errors import WireError

__all__ = [
    "ALIVE_TOPIC",
    "PROGRESS_TOPIC",
    "STEP_TOPIC",
    "TASKS",
    "contents",
    "parcel",
    "reply",
    "task_name",
]

KEY = "medfed"
TASKS = "medfed_*"  # what a job's configuration routes to the executor
STEP_TOPIC = "medfed.step"
PROGRESS_TOPIC = "medfed.progress"
ALIVE_TOPIC = "medfed.alive"


def task_name(kind: str) -> str:
    """The NVFlare task that carries a question of one kind."""
    return TASKS.replace("*", kind)


def parcel(data: bytes) -> Shareable:
    """A request around the bytes of a message."""
    shareable = Shareable()
    shareable[KEY] = data
    return shareable


def reply(data: bytes) -> Shareable:
    """An answer around the bytes of a message."""
    shareable = make_reply(ReturnCode.OK)
    shareable[KEY] = data
    return shareable


def contents(shareable: object, *, sender: str) -> bytes:
    """The bytes that a peer sent.

    Raises:
        WireError: there are none.
    """
    data = shareable.get(KEY) if isinstance(shareable, dict) else None
    if not isinstance(data, bytes):
        raise WireError(f"{sender}: an NVFlare message without a medfed message inside.")
    return data
