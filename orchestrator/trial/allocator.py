"""Memory that a training step has freed, kept for the next one."""

import ctypes
import os
import sys

import torch

SWITCH = "FSL_SWEEP_KEEP_MEMORY"
"""An environment variable; 0 leaves the memory allocator as it is."""

# Names and numbers of glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_OF_THE_USER = (
    "MALLOC_TRIM_THRESHOLD_",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_MMAP_MAX_",
    "MALLOC_TOP_PAD_",
)
_AS_LARGE_AS_CAN_BE = 2**31 - 1


def keep_freed_memory() -> bool:
    """Have glibc keep what tensors on the CPU free, in large pages, for all of this process.

    By default it returns each large tensor to the system, and every step takes all of them again,
    page by page. To be called before torch allocates. Nothing is changed without glibc, with a GPU,
    where the switch is 0, or where the environment sets the same thresholds.

    Returns:
        Whether it does.
    """
    if os.environ.get(SWITCH) == "0" or _is_tuned() or torch.cuda.is_available():
        return False
    if sys.platform != "linux" or not hasattr(libc := ctypes.CDLL(None), "gnu_get_libc_version"):
        return False
    # Both or none: each alone switches off that glibc adapts to the program.
    if not libc.mallopt(_MMAP_THRESHOLD, _AS_LARGE_AS_CAN_BE):
        return False
    libc.mallopt(_TRIM_THRESHOLD, _AS_LARGE_AS_CAN_BE)
    # torch reads it when it first allocates. Without memory that is kept it costs time.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    return True


def _is_tuned() -> bool:
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    return "glibc.malloc." in tunables or any(name in os.environ for name in _OF_THE_USER)
