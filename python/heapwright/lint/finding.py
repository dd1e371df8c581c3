# SPDX-License-Identifier: MIT
"""One finding: a line, what allocates there, its cost, and how to avoid it."""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

from typing import NamedTuple

from heapwright.lint.expression import UNKNOWN, Owner


class Costs(NamedTuple):
    """Costs of a line's blocks. lifetime_ns: mean of freed ones; 0 = not known. pinned_bytes: resident
    memory that they pin, in the scan with most of it. temporaries: freed by the next call of their
    thread."""

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
    """The growth of a finding's live bytes, from explain's question growth. kind: one of its kinds;
    bytes_per_s: at the end, 0 = not certain; means: of a block, at begin and end."""

    kind: str
    bytes_per_s: int
    grown_bytes: int
    blocks_at_end: int
    mean_bytes_at_begin: int
    mean_bytes_at_end: int


class Remedy(NamedTuple):
    """time_ns, bytes: upper bounds of the gain; 0 = none, or not known. rule: explain's rule with these
    figures; "" = the bound is all calls of the line."""

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
    """An edit of the finding's file: text replaces old. Lines and columns count from 1, the end is exclusive;
    these lines are ASCII, so columns are both bytes and characters."""

    begin_line: int
    begin_column: int
    end_line: int
    end_column: int
    old: str
    text: str


class Finding(NamedTuple):
    """file: relative to the folder of the sources. is_exact: source and recording name the same function.
    callers: the lines that mostly called this one. costs: None without a recording. last_line: of the code
    it refers to; 0 = only the line. fix: None if no edit is known to be correct. others: further lines of
    the same member. growing: None without certain growth."""

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
