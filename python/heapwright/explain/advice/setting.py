# SPDX-License-Identifier: MIT
"""A setting of the C library's allocator that makes large blocks dear."""

from __future__ import annotations

import re
from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import HIGH, Advice, Rule
from heapwright.report import units

_LEAST_CALLS = 100
_DEFAULT_BYTES = 128 << 10  # glibc maps from here on, until frees of mapped blocks raise it
_HIGHEST_BYTES = 32 << 20  # as far as it rises by itself
# Any of these keeps glibc from raising the threshold.
_FIXES_THRESHOLD = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_MAX_")
_TUNABLE = re.compile(r"glibc\.malloc\.(?:mmap_threshold|trim_threshold|top_pad|mmap_max)=")


def _find(of: Evidence) -> Iterator[Advice]:
    settings = of.report.trace.metadata.condition_values
    fixed = [name for name in _FIXES_THRESHOLD if name in settings]
    if _TUNABLE.search(settings.get("GLIBC_TUNABLES", "")):
        fixed.append("GLIBC_TUNABLES")
    if not of.is_glibc or not of.has_times:
        return
    from_bytes = _DEFAULT_BYTES if fixed else _HIGHEST_BYTES
    sites = [site for site in of.candidates(_LEAST_CALLS) if of.sizes(site).p50_bytes >= from_bytes]
    if not sites:
        return
    time_ns = sum(map(of.time_of, sites))
    calls = sum(of.site(site).allocations for site in sites)
    why = (
        f"{' and '.join(fixed)} keep the threshold where it is"
        if fixed
        else "glibc maps each block of 32 MiB or more"
    )
    yield Advice(
        tuple(sites),
        f"{units.count(calls)} blocks of {units.size(from_bytes)} or more each cost the kernel a mapping",
        (
            f"{units.duration(time_ns / max(1, calls))} each, made and freed; their first touch of "
            "each page comes on top",
            why,
        ),
        "the calls of these sites and the frees of their blocks",
        HIGH,
        "the setting is in the recording" if fixed else "the C library documents it",
        time_ns,
    )


RULE = Rule(
    "setting",
    "",
    "raise the threshold by mallopt(M_MMAP_THRESHOLD, ...), or take the setting away; or keep the buffers",
    _find,
    (
        "the memory must go back to the kernel at once: mapped blocks do, others stay as free memory",
        "there is room for few such blocks: a heap that keeps them may need twice as much",
    ),
    "raise the threshold by mallopt(M_MMAP_THRESHOLD, ...), or take the setting away; or keep the buffers",
    prelude="""\
#include <malloc.h>
void work();""",
    before="work();  // each block above the threshold: one mmap, one munmap, and its pages anew",
    after="""\
mallopt(M_MMAP_THRESHOLD, 256 << 20);
mallopt(M_TRIM_THRESHOLD, 512 << 20);
work();""",
    unsampled="a sampled call is a slow one: its time says nothing about the others'",
)
