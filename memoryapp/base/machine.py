"""Memory and processor features of this machine. Standard library only."""

import contextlib
import os
import re
import sys
from pathlib import Path

GIB = 1024**3
# From glibc's malloc.h, and the number of its arenas for all threads.
_M_ARENA_MAX, _ARENAS = -8, 2


def parse_cpu_flags(cpuinfo: str) -> frozenset[str]:
    """Return the features that every processor in the text of /proc/cpuinfo lists; empty where none are
    listed.
    """
    lines = re.findall(r"^(?:flags|Features)\s*:(.*)$", cpuinfo, re.MULTILINE)
    if not lines:
        return frozenset()
    return frozenset.intersection(*(frozenset(line.split()) for line in lines))


def read_cpu_flags() -> frozenset[str]:
    """Return the processor's features by their Linux names; empty on other systems."""
    try:
        return parse_cpu_flags(Path("/proc/cpuinfo").read_text())
    except OSError:
        return frozenset()


def parse_memory_limit(text: str) -> int | None:
    """Return the bytes in a control group's limit file, None for no limit."""
    text = text.strip()
    return int(text) if text.isdigit() else None


def total_memory() -> int:
    """Return the bytes of RAM that this process may use: the machine's, or a container's lower limit."""
    total = _installed_memory()
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError):
            limit = parse_memory_limit(Path(name).read_text())
            if limit is not None:
                total = min(total, limit)
    return total


def _installed_memory() -> int:
    if sys.platform == "win32":
        import ctypes

        class Status(ctypes.Structure):
            # MEMORYSTATUSEX of the Windows API; only ullTotalPhys (field0) is read.
            _fields_ = [("length", ctypes.c_uint32), ("load", ctypes.c_uint32)] + [
                (f"field{number}", ctypes.c_uint64) for number in range(7)
            ]

        status = Status(length=ctypes.sizeof(Status))
        ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
        return int(status.field0)
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def return_free_memory() -> None:
    """Let glibc's allocator return its free pages to the system; elsewhere nothing happens.

    Takes some milliseconds, in which other threads wait where they allocate.
    """
    import ctypes

    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def limit_memory_arenas() -> None:
    """Let all threads of this process share two arenas of glibc's allocator; elsewhere nothing happens.

    By default each thread gets one of its own, up to eight for each processor, and keeps what is freed in it.
    Call it before threads start.
    """
    import ctypes

    with contextlib.suppress(AttributeError, OSError, TypeError):
        # macOS, Windows and musl have no such function.
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)
