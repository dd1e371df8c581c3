# SPDX-License-Identifier: MIT
"""Whole pages that an allocator keeps, huge pages, rounding: planted, and the same run with the remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from running import Answer, alone, notes_of, project, record
from scenarios import Scenario, Truth, cause_of, remedy_bytes, trimmed

keeps_pages = project / "build/release/programs/keeps_pages"
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def untrimmed(folder: Path) -> tuple[Answer, list[Truth]]:
    command = [keeps_pages, "untrimmed"]
    record(folder / "t", command)
    answer = cause_of(folder / "t")
    return answer, [trimmed(answer, command)]


def kept(
    library: str, what: str, keeping: dict[str, str], setting: dict[str, str]
) -> Callable[[Path], tuple[Answer, list[Truth]]]:
    """keeping: the setting by which it surely keeps, whatever the time that passes."""

    def run(folder: Path) -> tuple[Answer, list[Truth]]:
        command = [keeps_pages, "untrimmed"]
        record(folder / "t", command, {"LD_PRELOAD": library, **keeping})
        answer = cause_of(folder / "t")
        here = alone(command, LD_PRELOAD=library, **keeping)["resident"]
        fixed = alone(command, LD_PRELOAD=library, **setting)["resident"]
        return answer, [Truth(what, remedy_bytes(answer, "decay"), here - fixed, True)]

    return run


def huge(mode: str) -> Callable[[Path], tuple[Answer, list[Truth]]]:
    def run(folder: Path) -> tuple[Answer, list[Truth]]:
        command = [keeps_pages, mode]
        own = notes_of(record(folder / "t", command, HUGE_PAGES))
        answer = cause_of(folder / "t")
        # Without huge pages nothing comes back.
        fixed = alone([keeps_pages, "untrimmed"])["trimmed"]
        return answer, [
            Truth("on huge pages (smaps)", answer["bytes_of"]["huge_pages"], own["resident_huge"]),
            Truth("glibc.malloc.hugetlb", remedy_bytes(answer, "huge_pages"), own["resident"] - fixed, True),
        ]

    return run


def rounding(folder: Path) -> tuple[Answer, list[Truth]]:
    command = [keeps_pages, "rounding"]
    record(folder / "t", command)
    answer = cause_of(folder / "t")
    asked = 25 * 1_000_000
    real = alone(command)["resident"] - asked
    return answer, [Truth("resident less asked for", answer["bytes_of"]["rounding"], real)]


SCENARIOS = (
    Scenario(
        "E: whole pages freed below survivors of six sites",
        "free, never trimmed",
        (("fragmented", "untrimmed"),),
        untrimmed,
    ),
    Scenario(
        "F: the same (jemalloc)",
        "dirty pages that no decay purges",
        (("fragmented", "kept"),),
        kept(
            "libjemalloc.so.2",
            "dirty_decay_ms:0,muzzy_decay_ms:0",
            {"MALLOC_CONF": "dirty_decay_ms:-1"},
            {"MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0"},
        ),
    ),
    Scenario(
        "F: the same (mimalloc)",
        "pages kept for reuse",
        (("fragmented", "kept"),),
        kept(
            "libmimalloc.so.2",
            "MIMALLOC_RESET_DELAY=0",
            {"MIMALLOC_RESET_DELAY": "1000000", "MIMALLOC_PURGE_DELAY": "1000000"},
            {"MIMALLOC_RESET_DELAY": "0", "MIMALLOC_PURGE_DELAY": "0"},
        ),
    ),
    Scenario(
        "F: the same (tcmalloc)",
        "spans kept for reuse",
        (("fragmented", "kept"),),
        kept(
            "libtcmalloc_minimal.so.4",
            "TCMALLOC_AGGRESSIVE_DECOMMIT=1",
            {},
            {"TCMALLOC_AGGRESSIVE_DECOMMIT": "1"},
        ),
    ),
    Scenario(
        "G: trimmed, then made huge again (MADV_COLLAPSE)",
        "huge pages",
        (("fragmented", "huge_pages"),),
        huge("reinflated"),
    ),
    Scenario(
        "G: trimmed, then made huge again (khugepaged)",
        "huge pages",
        (("fragmented", "huge_pages"),),
        huge("inflated"),
    ),
    Scenario("H: a million blocks of 25 bytes", "rounding", (("rounding", "rounding"),), rounding),
)
