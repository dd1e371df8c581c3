# SPDX-License-Identifier: MIT
"""How and of what a trace was made, without the texts that say so."""

from __future__ import annotations

import re
from typing import Any

from heapwright.model.unnamed import Unnamed

_ALLOCATOR = re.compile(r"(.*?)(?: \((/.*)\))?")
_FAMILY = re.compile(
    r"(?:glibc|musl|jemalloc|mimalloc|gperftools|tcmalloc|heapwright)\b(?: \d[\d.]*| inside)?"
)
_VERSION = re.compile(r"[\d.]+(?:(?:a|b|rc|dev|\.dev)\d+)?")
_UNSEEN_LIBRARIES = re.compile(
    r"\d+ librar(?:y was|ies were) "
    r"(?:loaded with RTLD_DEEPBIND|opened in a namespace of its own \(dlmopen\)): "
    r"(?:its|their) heap calls are not seen"
)

# The conditions whose names say nothing but what the recorder looks at (src/collect/conditions.cpp).
_CONDITIONS = frozenset(
    "attached patched runtime kernel_events kernel_events_lost environment "
    "architecture kernel cpus machine_memory_bytes "
    "transparent_huge_pages overcommit_memory address_space_limit_bytes data_limit_bytes stack_limit_bytes "
    "cgroup_memory_limit_bytes MALLOC_ARENA_MAX MALLOC_ARENA_TEST MALLOC_CHECK_ MALLOC_MMAP_MAX_ "
    "MALLOC_MMAP_THRESHOLD_ MALLOC_PERTURB_ MALLOC_TOP_PAD_ MALLOC_TRIM_THRESHOLD_ MALLOC_CONF "
    "_RJEM_MALLOC_CONF JE_MALLOC_CONF USE_ZEND_ALLOC PYTHONMALLOC GLIBC_TUNABLES GLIBCXX_TUNABLES".split()
)
_PLAIN_VALUE = re.compile(
    r"-?[\d.]+|0x[\da-f]+|yes|no|recorded|at the first instruction"
    r"|unreadable|always|madvise|never|x86_64|aarch64"
    r"|(?:py)?malloc(?:_debug)?|debug|default"
    r"|Python|PHP|JavaScript|Java|Go"
)
_TUNABLE = re.compile(
    r"glibc\.malloc\.(?:arena_max|arena_test|check|hugetlb|mmap_max|mmap_threshold|mxfast|perturb|tcache_count"
    r"|tcache_max|tcache_unsorted_limit|top_pad|trim_threshold)=(?:0x[\da-f]+|\d+)"
)


def unnamed_metadata(metadata: dict[str, Any], unnamed: Unnamed) -> dict[str, Any]:
    """The same fields. Numbers, and what the analysis goes by, stay."""
    program = unnamed.path(metadata["program"])
    return {
        **metadata,
        "program": program,
        "command": program,
        "host": unnamed.hashed("host", metadata["host"]),
        "allocator": _allocator(metadata["allocator"], unnamed),
        "recorder_version": _kept(_VERSION, metadata["recorder_version"], "version", unnamed),
        "process_id": 1,
        "parent_process_id": 0,
        "start_unix_ns": 0,
        "notes": [unnamed.hashed("note", text) for text in metadata["notes"]],
        "unseen": [_kept(_UNSEEN_LIBRARIES, text, "unseen", unnamed) for text in metadata["unseen"]],
        "unrecorded_processes": [
            _process(number, text, unnamed) for number, text in enumerate(metadata["unrecorded_processes"], 2)
        ],
        "conditions": [_condition(text, unnamed) for text in metadata["conditions"]],
    }


def _kept(pattern: re.Pattern[str], text: str, kind: str, unnamed: Unnamed) -> str:
    return text if pattern.fullmatch(text) else unnamed.hashed(kind, text)


def _allocator(text: str, unnamed: Unnamed) -> str:
    """ "glibc 2.36 (/lib/…)", or a path alone."""
    found = _ALLOCATOR.fullmatch(text)
    if found is None or text.startswith("/"):
        return unnamed.path(text)
    family = _FAMILY.match(found[1])
    name = family[0] if family else unnamed.hashed("allocator", found[1])
    return f"{name} ({unnamed.path(found[2])})" if found[2] else name


def _process(number: int, text: str, unnamed: Unnamed) -> str:
    _, program, reason = ([*text.split("\t", 2), "", ""])[:3]
    return f"{number}\t{unnamed.path(program)}\t{unnamed.hashed('reason', reason)}"


def _condition(text: str, unnamed: Unnamed) -> str:
    name, tab, value = text.partition("\t")
    if name not in _CONDITIONS:
        return unnamed.hashed("setting", name) + tab + unnamed.hashed("value", value)
    if name == "GLIBC_TUNABLES":
        parts = (_kept(_TUNABLE, part, "tunable", unnamed) for part in value.split(":"))
        return name + tab + ":".join(parts)
    return name + tab + _kept(_PLAIN_VALUE, value, "value", unnamed)
