"""Threads of the server share two arenas of the allocator, and free pages go back to the system."""

import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Eight threads hold memory at the same time, so each would get an arena of its own.
COUNT_ARENAS = """
import ctypes, threading
from memoryapp.base.machine import limit_memory_arenas

if {limited}:
    limit_memory_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.fdopen.restype = ctypes.c_void_p
barrier = threading.Barrier(8)

def hold():
    barrier.wait()
    for _ in range(1000):
        libc.malloc(ctypes.c_size_t(1000))
    barrier.wait()

threads = [threading.Thread(target=hold) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
stream = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, stream)
libc.fflush(stream)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has arenas")
def test_many_threads_share_two_arenas():
    limited, unlimited = (_count_arenas(limited=choice) for choice in (True, False))
    assert limited <= 2 < unlimited


def _count_arenas(*, limited: bool) -> int:
    program = COUNT_ARENAS.format(limited=limited)
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True)
    return len(re.findall(rb"<heap nr=", done.stdout))


# Every second of some thousand pieces stays, so that the allocator keeps all pages of the rest.
FREE_BETWEEN = """
import ctypes, os
from memoryapp.base.machine import return_free_memory

def count_resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
pieces = [libc.malloc(ctypes.c_size_t(100_000)) for _ in range(1000)]
for piece in pieces:
    ctypes.memset(ctypes.c_void_p(piece), 1, 100_000)
for piece in pieces[::2]:
    libc.free(ctypes.c_void_p(piece))
before = count_resident()
return_free_memory()
print(before - count_resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has this function")
def test_free_pages_between_used_ones_are_returned():
    done = subprocess.run([sys.executable, "-c", FREE_BETWEEN], cwd=ROOT, check=True, capture_output=True)
    assert int(done.stdout) > 40_000_000
