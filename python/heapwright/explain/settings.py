# SPDX-License-Identifier: MIT
"""The settings of the C library's allocator that are advised or checked, all declared here."""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

import re
from collections.abc import Mapping
from typing import NamedTuple

_MOST_DIGITS = 20


class Setting(NamedTuple):
    """variable: environment variable; "" = only a tunable. tunable: of glibc.malloc.
    price: its cost, as the end of a sentence. option, parameter: of mallopt, by name and number."""

    variable: str
    tunable: str
    price: str = ""
    option: str = ""
    parameter: int = 0

    def to(self, value: int) -> str:
        """The setting as written in the environment.

        >>> ARENA_MAX.to(1)
        'MALLOC_ARENA_MAX=1'
        >>> FAST_BINS.to(0)
        'GLIBC_TUNABLES=glibc.malloc.mxfast=0'
        """
        name = self.variable or f"GLIBC_TUNABLES=glibc.malloc.{self.tunable}"
        return f"{name}={value}"

    def replayed(self, value: int) -> str:
        """The argument of heapwright replay --set.

        >>> ARENA_MAX.replayed(1)
        'glibc.arena_max=1'
        """
        return f"glibc.{self.tunable}={value}"

    def value_in(self, settings: Mapping[str, str]) -> str:
        """Its value in an allocator's settings; "" = not set. The program's own call overrides others."""
        names = (self.option, self.variable, self.tunable)
        return next((settings[name] for name in names if settings.get(name)), "")

    def number_in(self, settings: Mapping[str, str]) -> int | None:
        """Its value in an allocator's settings, as the C library reads it; None = not set, or not a number.

        >>> TRIM_THRESHOLD.number_in({"trim_threshold": "0x100"})
        256
        >>> TRIM_THRESHOLD.number_in({"M_TRIM_THRESHOLD": "-1"}) == 2**64 - 1
        True
        """
        value = self.value_in(settings)
        if value.removeprefix("-").isdecimal() and len(value) < _MOST_DIGITS:
            return int(value) % (1 << 64)
        try:
            return int(value, 16) if value.lower().startswith("0x") and len(value) < _MOST_DIGITS else None
        except ValueError:
            return None

    def set_in(self, settings: Mapping[str, str]) -> str:
        """NAME=VALUE as set, or the program's call; "" = not set."""
        if self.is_by_program(settings):
            return f"mallopt({self.option}, {settings[self.option]})"
        if self.variable in settings:
            return f"{self.variable}={settings[self.variable]}"
        return f"glibc.malloc.{self.tunable}={settings[self.tunable]}" if self.tunable in settings else ""

    def is_by_program(self, settings: Mapping[str, str]) -> bool:
        """Whether the program itself sets it, which overrides the environment."""
        return bool(self.option) and self.option in settings

    def name_in(self, settings: Mapping[str, str]) -> str:
        """What set it; "" = not set.

        >>> TRIM_THRESHOLD.name_in({"M_TRIM_THRESHOLD": "1"}), TRIM_THRESHOLD.name_in({"trim_threshold": "1"})
        ('mallopt(M_TRIM_THRESHOLD)', 'trim_threshold')
        """
        if self.is_by_program(settings):
            return f"mallopt({self.option})"
        return next((name for name in (self.variable, self.tunable) if name in settings), "")

    def without(self, settings: Mapping[str, str]) -> str:
        """How to remove the setting."""
        return f"{'removing' if self.is_by_program(settings) else 'unsetting'} {self.set_in(settings)}"


ARENA_MAX = Setting(
    "MALLOC_ARENA_MAX", "arena_max", "threads would then wait for one lock", "M_ARENA_MAX", -8
)
MMAP_THRESHOLD = Setting(
    "MALLOC_MMAP_THRESHOLD_",
    "mmap_threshold",
    "each such block costs system calls and page faults",
    "M_MMAP_THRESHOLD",
    -3,
)
TRIM_THRESHOLD = Setting(
    "MALLOC_TRIM_THRESHOLD_",
    "trim_threshold",
    "that much stays resident at the heap's end",
    "M_TRIM_THRESHOLD",
    -1,
)
TOP_PAD = Setting("MALLOC_TOP_PAD_", "top_pad", "that much more may stay at the heap's end", "M_TOP_PAD", -2)
MMAP_MAX = Setting("MALLOC_MMAP_MAX_", "mmap_max", option="M_MMAP_MAX", parameter=-4)
FAST_BINS = Setting("", "mxfast", "each small free then merges at once", "M_MXFAST", 1)
HUGE_PAGES = Setting("", "hugetlb")
THREAD_CACHE_COUNT = Setting("", "tcache_count")
THREAD_CACHE_MAX = Setting("", "tcache_max")

OF_MALLOPT = (ARENA_MAX, MMAP_THRESHOLD, TRIM_THRESHOLD, TOP_PAD, MMAP_MAX, FAST_BINS)

# Setting any of them keeps the C library from raising the mmap threshold.
FIXES_THRESHOLD = (MMAP_THRESHOLD, TRIM_THRESHOLD, TOP_PAD, MMAP_MAX)

# The C library's initial values.
FIRST_MMAP_THRESHOLD = 128 << 10
FIRST_TRIM_THRESHOLD = FIRST_TOP_PAD = 128 << 10
HIGHEST_MMAP_THRESHOLD = 32 << 20  # the highest that it rises to automatically
_TAKES_ANY_SINCE = (2, 36)  # measured; not known of 2.35
_LEAST_KEPT, _MOST_KEPT = 1 << 20, 1 << 30  # mallopt takes an int
_THREAD_CACHE_COUNT, _THREAD_CACHE_MAX = 7, 1032
_SMALLEST_USABLE, _STEP = 24, 16


def thresholds(trim_bytes: int, mmap_bytes: int) -> str:
    """Both thresholds as written in the environment. Always both: setting one fixes the other at 128 KiB, and
    a program whose large blocks were kept is then slower.

    >>> thresholds(64 << 20, 32 << 20)
    'MALLOC_TRIM_THRESHOLD_=67108864 MALLOC_MMAP_THRESHOLD_=33554432'
    """
    return f"{TRIM_THRESHOLD.to(trim_bytes)} {MMAP_THRESHOLD.to(mmap_bytes)}"


def thresholds_replayed(trim_bytes: int, mmap_bytes: int) -> str:
    """The same as the argument of heapwright replay --set.

    >>> thresholds_replayed(131072, 131072)
    'glibc.trim_threshold=131072,mmap_threshold=131072'
    """
    return f"{TRIM_THRESHOLD.replayed(trim_bytes)},{MMAP_THRESHOLD.tunable}={mmap_bytes}"


# The thresholds that give back most, both as the C library has them before a free raises them.
GIVING = (FIRST_TRIM_THRESHOLD, FIRST_MMAP_THRESHOLD)
# What giving memory back costs in time, as the end of a sentence.
TAKEN_AGAIN = "memory that is used again costs a page fault for each page"


def keeping(bytes_in_use: int, largest_bytes: int = 0) -> tuple[int, int]:
    """The thresholds with which the C library keeps what it has used: for trimming and for mapping, so that
    memory of this size is neither trimmed nor mapped for each block. largest_bytes: of a block that has to be
    kept though it is larger than any that a free lets the library keep; 0: none is.

    >>> keeping(3_500_000), keeping(100 << 20), keeping(100 << 20, 40 << 20)
    ((8388608, 8388608), (268435456, 33554432), (268435456, 67108864))
    """
    trim = max(_LEAST_KEPT, 1 << (2 * max(bytes_in_use, 1) - 1).bit_length())
    trim = min(trim, _MOST_KEPT)
    return trim, min(trim, max(HIGHEST_MMAP_THRESHOLD, 1 << largest_bytes.bit_length()))


def takes_any_threshold(name: str) -> bool:
    """Whether this C library takes an mmap threshold above the highest that frees raise it to; older ones
    ignore such a value, and then the trim threshold beside it fixes this one at 128 KiB.

    >>> takes_any_threshold("glibc 2.36"), takes_any_threshold("glibc 2.31"), takes_any_threshold("musl")
    (True, False, False)
    """
    found = re.match(r"glibc (\d+)\.(\d+)", name)
    return found is not None and (int(found[1]), int(found[2])) >= _TAKES_ANY_SINCE


def kept_at_end_bytes(settings: Mapping[str, str], raised_bytes: int) -> int:
    """What the C library keeps at the end of a heap beyond its default.

    raised_bytes: the mmap threshold as raised by frees; the trim threshold is then twice that.

    >>> kept_at_end_bytes({}, 0), kept_at_end_bytes({}, 1 << 20), kept_at_end_bytes({"top_pad": "1131072"}, 0)
    (0, 2097152, 1000000)
    """
    trim = TRIM_THRESHOLD.number_in(settings)
    trim = 2 * raised_bytes if trim is None else max(0, trim - FIRST_TRIM_THRESHOLD)
    return trim + max(0, (TOP_PAD.number_in(settings) or 0) - FIRST_TOP_PAD)


def most_end_bytes(settings: Mapping[str, str], raised_bytes: int) -> int:
    """The most that the C library keeps at the end of a heap; raised_bytes: as in kept_at_end_bytes()."""
    return FIRST_TRIM_THRESHOLD + FIRST_TOP_PAD + kept_at_end_bytes(settings, raised_bytes)


def thread_cache_bytes(settings: Mapping[str, str]) -> int:
    """The most usable bytes in one thread's cache: a number of blocks of each size.

    >>> thread_cache_bytes({})
    236544
    """
    count = _number(THREAD_CACHE_COUNT, settings, _THREAD_CACHE_COUNT)
    largest = _number(THREAD_CACHE_MAX, settings, _THREAD_CACHE_MAX)
    return count * sum(range(_SMALLEST_USABLE, largest + 1, _STEP))


def _number(setting: Setting, settings: Mapping[str, str], default: int) -> int:
    value = setting.value_in(settings)
    return int(value) if value.isdecimal() and len(value) < 10 else default
