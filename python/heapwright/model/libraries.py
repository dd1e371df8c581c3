# SPDX-License-Identifier: MIT
"""Libraries whose code is nobody's call site: allocators, language run times, the C library."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

PYTHON = "[python]"  # src/trace/records.hpp: what the frames of Python functions are in
CONTEXT = "[context]"  # and the outermost frames that are names of contexts (heapwright/annotate.h)
_ALLOCATORS = (
    "libheapwright",
    "libjemalloc",
    "libtcmalloc",
    "libmimalloc",
    "libtbbmalloc",
    "libsnmalloc",
    "libhoard",
)
_RUN_TIMES = (
    *("libc.so", "ld-linux", "libpthread", "libstdc++", "libc++", "libgcc_s", "libcxx"),
    *(f"{name}{end}" for name, end in product(("libdl", "librt", "libm"), ".-")),
    *(f"{name}-{digit}" for name, digit in product(("libc", "ld"), "0123456789")),
)
_PLUMBING = (*_ALLOCATORS, *_RUN_TIMES)


def plumbing_prefix(library: str) -> str:
    """How its file name begins, of an allocator, a run time or the C library; empty of any other."""
    return next(filter(library.startswith, _PLUMBING), "")


@lru_cache(maxsize=4096)
def is_allocator(library: str) -> bool:
    """True for the file name of an allocator or of the recorder."""
    return library.startswith(_ALLOCATORS)


@lru_cache(maxsize=4096)
def is_run_time(library: str) -> bool:
    """True for the file name of a run time, the C library or the dynamic linker."""
    return library.startswith(_RUN_TIMES)


@lru_cache(maxsize=4096)
def is_plumbing(library: str) -> bool:
    """True for the file name of an allocator, a run time or the C library."""
    return library.startswith(_PLUMBING)
