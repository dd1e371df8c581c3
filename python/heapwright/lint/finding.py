# SPDX-License-Identifier: MIT
"""One finding: a line, what allocates there, what it costs, what would remove it."""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

from typing import NamedTuple

from heapwright.lint.expression import UNKNOWN, Owner


class Costs(NamedTuple):
    """Of the blocks of a line. lifetime_ns: of freed ones, on average; 0 = not known. pinned_bytes: resident
    memory that they keep from being given back, in the scan with most of it. temporaries: freed as the next
    call of their thread."""

    allocations: int = 0
    bytes: int = 0
    time_ns: int = 0
    freed: int = 0
    temporaries: int = 0
    lifetime_sum_ns: int = 0
    live_at_peak_bytes: int = 0
    live_at_end_blocks: int = 0
    live_at_end_bytes: int = 0
    pinned_bytes: int = 0

    @property
    def lifetime_ns(self) -> int:
        return self.lifetime_sum_ns // self.freed if self.freed else 0


class Growing(NamedTuple):
    """How the live bytes of a finding's blocks went, by explain's question growth. kind: of its kinds;
    bytes_per_s: at the end, 0 = not sure; means: of a block, at the begin and at the end."""

    kind: str
    bytes_per_s: int
    grown_bytes: int
    blocks_at_end: int
    mean_bytes_at_begin: int
    mean_bytes_at_end: int


class Remedy(NamedTuple):
    """time_ns, bytes: at most so much is to gain; 0 = none of it, or not known. rule: explain's, whose
    figures these are; "" = the bound is all calls of the line."""

    action: str
    part: str = ""
    rule: str = ""
    time_ns: int = 0
    time_share: float = 0.0
    bytes: int = 0
    bytes_share: float = 0.0
    what: str = ""
    replay_change: str = ""
    when_not: str = ""


class Fix(NamedTuple):
    """An edit of the finding's file: text in place of old. Lines and columns count from 1, the end is the
    place behind the last one; these lines are ASCII, so that columns are bytes and characters alike."""

    begin_line: int
    begin_column: int
    end_line: int
    end_column: int
    old: str
    text: str


class Finding(NamedTuple):
    """file: below the folder of the sources. is_exact: source and recording name the same function.
    callers: the lines that this one was mostly called from. costs: None without a recording. last_line: of
    what it speaks of; 0 = the line alone. fix: None where no edit is known to be right. others: more lines
    of the same, of a member's. growing: None where it does not surely grow."""

    kind: str
    file: str
    line: int
    column: int
    function: str
    expression: str
    type_name: str = ""
    owner: Owner = Owner(UNKNOWN)
    is_in_loop: bool = False
    is_exact: bool = True
    callee: str = ""
    callers: tuple[str, ...] = ()
    costs: Costs | None = None
    remedy: Remedy = Remedy("")
    message: str = ""
    fingerprint: str = ""
    last_line: int = 0
    fix: Fix | None = None
    others: tuple[str, ...] = ()
    growing: Growing | None = None
