# SPDX-License-Identifier: MIT
"""Suppressed blocks: LeakSanitizer's suppression files, and the runtime's own memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import gt
from typing import TYPE_CHECKING

from heapwright.model import libraries
from heapwright.model.sites import MARKS, stacks_below

if TYPE_CHECKING:
    from heapwright.model.symbols import Location
    from heapwright.model.trace import Trace


def parse(text: str) -> tuple[str, ...]:
    """The patterns of a file of "leak:PATTERN" lines; ValueError names an invalid line."""
    patterns = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        kind, colon, pattern = stripped.partition(":")
        if kind != "leak" or not colon or not pattern.strip():
            raise ValueError(f"line {number} is '{stripped[:60]}', not leak:PATTERN or a # comment")
        patterns.append(pattern.strip())
    return tuple(patterns)


def expression(pattern: str) -> str:
    """LeakSanitizer's pattern as a regular expression: "*" is any text, "^" and "$" are the ends.

    >>> expression("^Cache::*init$")
    '^Cache::.*init$'
    """
    begin, end = pattern.startswith("^"), pattern.endswith("$")
    inner = pattern[begin : len(pattern) - end]
    return "^" * begin + ".*".join(map(re.escape, inner.split("*"))) + "$" * end


def stacks_suppressed(trace: Trace, patterns: Sequence[str]) -> bytes:
    """One byte per stack: 1 if its blocks are not leaks.

    Stacks whose function, file or library matches in any frame, and memory that
    the runtime allocates at start: libstdc++'s memory for exceptions.
    """
    run_time = _of_run_time(trace)
    if not patterns:
        return run_time
    wanted = re.compile("|".join(f"(?:{expression(pattern)})" for pattern in patterns))
    paths = {module.name: module.path for module in trace.modules}

    def matches(location: Location) -> bool:
        texts = (location.function, location.file, paths.get(location.library, location.library))
        return any(text and wanted.search(text) for text in texts)

    return bytes(map(max, run_time, trace.stacks_with(matches)))


def _of_run_time(trace: Trace) -> bytes:
    """The stacks that begin in the dynamic linker and never leave the runtime."""
    tree, symbols = trace.stack_columns, trace.symbols()
    library = {frame: symbols.library(frame) for frame in set(tree["frame"][1:]) if frame not in MARKS}

    def stacks_with(frames: list[int]) -> bytes:
        return stacks_below(tree["parent"], tree["frame"], frames)

    outside = stacks_with([frame for frame, name in library.items() if not libraries.is_run_time(name)])
    linker = stacks_with([frame for frame, name in library.items() if name.startswith("ld-")])
    return bytes(map(gt, linker, outside))
