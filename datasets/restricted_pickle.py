"""Pickled data sets, read by a machine that can make nothing but data.

Python's own ``pickle`` imports and calls whatever a file names. This reader knows NumPy arrays,
lists, tuples, dicts, text, bytes and numbers, whether Python 2 or 3 or NumPy 1 or 2 wrote them. A
file that names anything else is refused, and nothing that it names is ever imported. Memory is
bounded as well: arrays are views of the file, mapped into memory, and the values that are held at
one time are counted.
"""

from collections.abc import Iterator
from mmap import ACCESS_READ, MADV_DONTNEED, mmap
from pathlib import Path
from typing import Any, BinaryIO

from fsl_sweep.datasets.pickle_machine import Encoding, Machine
from fsl_sweep.orchestrator.errors import BadData, MissingData

_MOST_BYTES = 4 * 2**30
_RELEASE_EVERY = 64  # items


def load_pickle(
    source: Path | bytes | BinaryIO, where: str | None = None, *, encoding: Encoding = "latin1"
) -> Any:
    """The lists, dicts, arrays, text and numbers in a pickle.

    Args:
        source: a file, or an open one, or its bytes. Arrays are read-only views of it.
        where: its name for messages; by default the path.
        encoding: for the ``str`` values of Python 2.

    Raises:
        MissingData: there is no such file.
        BadData: it cannot be read, is damaged, or names anything but what data needs; the message
            names the file and the function or class.
    """
    if isinstance(source, Path):
        content, where = _mapped(source), where or str(source)
    elif isinstance(source, bytes):
        content, where = source, where or "a pickle"
    else:
        content, where = source.read(_MOST_BYTES + 1), where or "a pickle"
    if not isinstance(content, mmap) and len(content) > _MOST_BYTES:
        raise BadData(f"{where} has more than {_MOST_BYTES} bytes; give it as a file of its own.")
    machine = Machine(content, where, encoding, streaming=False)
    for _ in machine.run():
        pass
    return machine.result


def stream_list(path: Path, *, encoding: Encoding = "latin1") -> Iterator[Any]:
    """The items of the one list that a pickle holds, one after the other, never all at once.

    The file is gone through twice: first to learn which values are referred to again, for only
    those are remembered, and then to make the items. Arrays are views of the file.

    Raises:
        MissingData, BadData: as `load_pickle`, or it does not hold a list. Damage in the middle is
            noticed in the first pass, before any item is given.
    """
    content = _mapped(path)
    machine = Machine(content, str(path), encoding, streaming=True)
    for number, item in enumerate(machine.run(), 1):
        yield item
        if number % _RELEASE_EVERY == 0:
            content.madvise(MADV_DONTNEED)  # what the items' user has read again


def _mapped(path: Path) -> mmap:
    try:
        with path.open("rb") as file:
            return mmap(file.fileno(), 0, access=ACCESS_READ)
    except FileNotFoundError as failure:
        raise MissingData(f"There is no file {path}.") from failure
    except (OSError, ValueError) as failure:  # an empty file cannot be mapped
        raise BadData(f"{path} cannot be read as a pickle ({failure}).") from failure
