# SPDX-License-Identifier: MIT
# length: one page, from its head to each section
"""One page of counters, read from its file. Nothing in it is trusted: every place is bounded first."""

from __future__ import annotations

import os
import stat
import time
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from heapwright.live.layout import CONSTANTS, FIELDS, FUNCTIONS, number, numbers, text

MAX_PAGE_BYTES = 8 << 20
_TABLE_READS = 5
# As many as a busy process makes while two readings of its tables follow each other undisturbed.
_FEW_CALLS = 64
_TABLE_WORDS = CONSTANTS["table_bytes"] // 8
_SETTLING_READS = 5
_SETTLING_PAUSE_S = 0.002  # writing takes microseconds, unless the writer loses its processor
Read = Callable[[int, int], bytes]
_Part = TypeVar("_Part")


class PageError(Exception):
    """Why a file is not a readable page, in one line."""


class UnfinishedPageError(PageError):
    """The process is still creating its page."""


class GonePageError(PageError):
    """The file no longer exists."""


class Timings(NamedTuple):
    """Of the calls that were timed: their time on the processor, and how many left it for how long."""

    calls: int
    ns: int
    slow_calls: int
    slow_ns: int
    bins: tuple[int, ...]
    waited_calls: int
    waited_ns: int


class LockWaits(NamedTuple):
    """Of the timed calls: those that waited for a lock, how long, and a bin per power of two of ns."""

    calls: int
    ns: int
    bins: tuple[int, ...]


class ContextCalls(NamedTuple):
    """What was called in one context, by threads with tables of their own, but for up to 64 calls each."""

    calls: int
    made: int
    requested_bytes: int
    usable_bytes: int
    timed_calls: int
    timed_ns: int
    released_bytes: int  # of blocks released in it, whoever made them


def added(some: ContextCalls, more: ContextCalls) -> ContextCalls:
    """Their sums."""
    return ContextCalls(*map(sum, zip(some, more, strict=True)))


class Calls(NamedTuple):
    """The calls of a process: sums over its threads' tables. All but the flags only grow."""

    program: str
    allocator: str
    has_own_malloc: bool
    has_unknown_usable: bool
    is_attached: bool
    is_patched: bool
    keeper: int
    keeper_start_ticks: int
    mean_stride: int
    slow_from_ns: int
    clock_ns: int
    started_ns: int
    ended_ns: int
    by_function: dict[str, int]
    requested_bytes: int
    usable_bytes: int
    released_bytes: int
    realloc_made: int
    realloc_released: int
    failed: int
    null_releases: int
    threads_begun: int
    threads_ended: int
    making: Timings
    releasing: Timings
    lock_waits: LockWaits  # a part of both timings' waits
    preempted_calls: int  # another part of these
    preempted_ns: int
    sought_calls: int  # waits for locks where they are likely, not a sample
    sought_ns: int
    sizes: tuple[int, ...]
    calls_while_reading: int  # 0: all values are of one moment
    contexts: Mapping[str, ContextCalls] = {}  # by the names that the program gave


class HeapFigures(NamedTuple):
    """What our own heap says of itself, as far as it is shown."""

    contended: int
    wait_ns: int
    committed_bytes: int
    purged_bytes: int
    threads: int
    # Written together, now and then. None: they were being written whenever this was read.
    dirty_bytes: int | None
    remote_frees: int | None


class RemedyFigures(NamedTuple):
    """What one remedy does. The levels are as of looked_ns, 0: never yet; the others only grow."""

    remedy: str  # as try takes it
    made: int
    reused: int
    deferred: int
    refused: int
    left: int
    live_blocks: int
    live_bytes: int
    held_bytes: int
    looked_ns: int


class Page(NamedTuple):
    """What one file says."""

    path: str
    process: int
    generation: int
    process_start_ticks: int
    calls: Calls | None
    heap: HeapFigures | None
    remedies: tuple[RemedyFigures, ...] | None = None


class _Section(NamedTuple):
    kind: int
    version: int
    offset: int
    bytes: int


def read_page(path: str, keeper: tuple[int, int] | None = None) -> Page:
    """The page in a file. PageError: it is none, or not one for us, or kept for another."""
    with _opened(path) as (size, read):
        return parse_page(path, size, read, keeper)


def read_keeper(path: str) -> tuple[int, int] | None:
    """Who waits for the page: id and start; None: it has no section of calls. PageError: as above."""
    with _opened(path) as (_, read):
        section = _section_of_calls(path, read)
        data = read(section.offset, CONSTANTS["calls_bytes"]) if section else b""
    if len(data) < CONSTANTS["calls_bytes"]:
        return None
    return number(data, "calls", "keeper"), number(data, "calls", "keeper_start_ticks")


def disown(path: str) -> None:
    """Nobody waits for the page any more. PageError, OSError: it is not a page, or not ours to write."""
    with _opened(path) as (size, read):
        section = _section_of_calls(path, read)
    offset, width = FIELDS["calls"]["keeper"]
    if section and section.offset + CONSTANTS["calls_bytes"] <= size:
        file = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.pwrite(file, bytes(width), section.offset + offset)
        finally:
            os.close(file)


def _section_of_calls(path: str, read: Read) -> _Section | None:
    head = read(0, CONSTANTS["head_bytes"])
    if len(head) < CONSTANTS["head_bytes"] or number(head, "head", "magic") != CONSTANTS["magic"]:
        raise PageError(f"{path} is not a page of counters")
    wanted = (CONSTANTS["calls_kind"], CONSTANTS["calls_version"])
    return next((one for one in _sections_of(head) if (one.kind, one.version) == wanted), None)


@contextmanager
def _opened(path: str) -> Iterator[tuple[int, Read]]:
    """Its size, and what reads it."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise GonePageError(f"{path} is gone: its process has ended") from None
    except OSError as error:
        raise PageError(f"{path} is not read: {(error.strerror or str(error)).lower()}") from None
    try:
        yield _checked_size(path, os.fstat(file)), lambda start, count: _pread(file, start, count)
    finally:
        os.close(file)


def _checked_size(path: str, status: os.stat_result) -> int:
    if not stat.S_ISREG(status.st_mode):
        raise PageError(f"{path} is not read: not a plain file")
    if status.st_uid != os.geteuid() and os.geteuid() != 0:
        raise PageError(f"{path} is not read: it belongs to user {status.st_uid}")
    if status.st_size > MAX_PAGE_BYTES:
        raise PageError(f"{path} is not a page of counters: {status.st_size} bytes are too many")
    return status.st_size


def _pread(file: int, start: int, count: int) -> bytes:
    # Not by a mapping: a file that is cut short meanwhile would end the reader.
    data = os.pread(file, count, start)
    while len(data) < count and (more := os.pread(file, count - len(data), start + len(data))):
        data += more
    return data


def parse_page(path: str, size: int, read: Read, keeper: tuple[int, int] | None = None) -> Page:
    """The page whose bytes `read(start, count)` gives; fewer at the end of what there is."""
    head = read(0, CONSTANTS["head_bytes"])
    if len(head) < CONSTANTS["head_bytes"] or not any(head[:8]):
        raise UnfinishedPageError(f"{path} is not a page of counters yet")
    if number(head, "head", "magic") != CONSTANTS["magic"]:
        raise PageError(f"{path} is not a page of counters")
    version = number(head, "head", "version")
    if version != CONSTANTS["head_version"]:
        raise PageError(
            f"{path} has a head of version {version}, this heapwright reads {CONSTANTS['head_version']}; "
            "use the one that the process runs with"
        )
    page_bytes = number(head, "head", "page_bytes")
    if page_bytes > size:
        raise PageError(f"{path} is damaged: it names {page_bytes} bytes and has {size}")
    sections = [section for section in _sections_of(head) if section.kind]
    for section in sections:
        if section.offset + section.bytes > page_bytes or section.offset % 8:
            raise PageError(f"{path} is damaged: a section is outside the file")
    calls = _find(
        path, sections, "calls", lambda section: _read_calls(path, section, page_bytes, read, keeper)
    )
    contexts = _find(
        path, sections, "contexts", lambda section: _read_contexts(path, section, page_bytes, read)
    )
    return Page(
        path,
        number(head, "head", "process"),
        number(head, "head", "generation"),
        number(head, "head", "process_start_ticks"),
        calls._replace(contexts=contexts) if calls and contexts else calls,
        _find(path, sections, "heap", lambda section: _read_heap(path, section, read)),
        _find(path, sections, "remedies", lambda section: _read_remedies(path, section, page_bytes, read)),
    )


def _sections_of(head: bytes) -> list[_Section]:
    start = FIELDS["head"]["sections"][0]
    found = []
    for index in range(CONSTANTS["max_sections"]):
        at = start + index * CONSTANTS["section_bytes"]
        found.append(_Section(*(number(head, "section", field, at) for field in _Section._fields)))
    return found


def _find(path: str, sections: list[_Section], kind: str, read: Callable[[_Section], _Part]) -> _Part | None:
    section = next((one for one in sections if one.kind == CONSTANTS[f"{kind}_kind"]), None)
    if section is None:
        return None
    wanted = CONSTANTS[f"{kind}_version"]
    if section.version != wanted:
        raise PageError(
            f"{path} has {kind} of version {section.version}, this heapwright reads {wanted}; "
            "use the one that the process runs with"
        )
    if section.bytes < CONSTANTS[f"{kind}_bytes"]:
        raise PageError(f"{path} is damaged: its section of {kind} is too short")
    return read(section)


def _read_calls(
    path: str, section: _Section, page_bytes: int, read: Read, keeper: tuple[int, int] | None
) -> Calls:
    data = read(section.offset, CONSTANTS["calls_bytes"])
    if len(data) < CONSTANTS["calls_bytes"]:
        raise PageError(f"{path} is damaged: it ends within its section of calls")
    # Before the tables: others' pages are many, or made large to waste our time.
    if keeper not in (None, (number(data, "calls", "keeper"), number(data, "calls", "keeper_start_ticks"))):
        raise PageError(f"{path} is kept for another process")
    table_bytes = number(data, "calls", "table_bytes")
    offset = number(data, "calls", "tables_offset")
    used = number(data, "calls", "tables_used")
    is_known = (
        number(data, "calls", "functions") == CONSTANTS["function_count"]
        and number(data, "calls", "bins") == CONSTANTS["bin_count"]
        and table_bytes == CONSTANTS["table_bytes"]
        and used <= CONSTANTS["max_call_tables"]
    )
    if not is_known or offset % 8 or offset + used * table_bytes > page_bytes:
        raise PageError(
            f"{path} is damaged: its tables of calls are outside the file, or have another format"
        )
    earlier, later = _agreeing_sums(path, lambda: read(offset, used * table_bytes))
    return _calls_of(data, earlier, later)


def _agreeing_sums(path: str, read_tables: Callable[[], bytes]) -> tuple[bytes, bytes]:
    """The sums of two readings, one right after the other, with few calls between.

    What is released was made before. Released is taken of the first, so that it cannot be more than what was
    made, however fast the process goes on meanwhile. What it makes meanwhile would be taken for living: both
    are read before either is summed up, and again where this reader lost its processor between them.
    """
    found, fewest = None, 0
    for _ in range(_TABLE_READS):
        first, second = read_tables(), read_tables()
        earlier, later = _tables_of(first), _tables_of(second)
        if earlier is None or later is None:
            raise PageError(f"{path} is damaged: it ends within its tables of calls")
        between = _calls_in(later) - _calls_in(earlier)
        if found is None or between < fewest:
            found, fewest = (earlier, later), between
        if fewest <= _FEW_CALLS:
            break
    assert found is not None
    return _sums_of(found[0]), _sums_of(found[1])


def _tables_of(data: bytes) -> array[int] | None:
    """Those in use, one at least. None: there is no whole one, and there always is one at least."""
    table_bytes = CONSTANTS["table_bytes"]
    if not data or len(data) % table_bytes:
        return None
    nothing = bytes(table_bytes)
    tables = [data[at : at + table_bytes] for at in range(0, len(data), table_bytes)]
    words = array("Q")
    words.frombytes(b"".join(table for table in tables if table != nothing) or nothing)
    return words


def _calls_in(tables: array[int]) -> int:
    first = FIELDS["table"]["calls"][0] // 8
    return sum(sum(tables[column::_TABLE_WORDS]) for column in range(first, first + len(FUNCTIONS)))


def _sums_of(tables: array[int]) -> bytes:
    """As one table."""
    sums = [sum(tables[column::_TABLE_WORDS]) % (1 << 64) for column in range(_TABLE_WORDS)]
    return array("Q", sums).tobytes()


def _calls_of(data: bytes, earlier: bytes, later: bytes) -> Calls:
    flags = number(data, "calls", "flags")
    old = dict(zip(FUNCTIONS, numbers(earlier, "table", "calls"), strict=True))
    new = dict(zip(FUNCTIONS, numbers(later, "table", "calls"), strict=True))
    of_section: dict[str, Any] = {
        name: number(data, "calls", name)
        for name in ("keeper", "keeper_start_ticks", "mean_stride", "slow_from_ns", "clock_ns",
                     "started_ns", "ended_ns")
    }  # fmt: skip
    released: dict[str, Any] = {
        name: number(earlier, "table", name) for name in ("released_bytes", "realloc_released")
    }
    made: dict[str, Any] = {
        name: number(later, "table", name)
        for name in ("requested_bytes", "usable_bytes", "realloc_made", "failed", "null_releases",
                     "threads_begun")
    }  # fmt: skip
    return Calls(
        program=text(data, "calls", "program"),
        allocator=text(data, "calls", "allocator"),
        has_own_malloc=bool(flags & CONSTANTS["has_own_malloc"]),
        has_unknown_usable=bool(flags & CONSTANTS["has_unknown_usable"]),
        is_attached=bool(flags & CONSTANTS["is_attached"]),
        is_patched=bool(flags & (CONSTANTS["is_patched"] | CONSTANTS["is_attached"])),
        by_function=new | {name: old[name] for name in ("free", "delete")},
        threads_ended=number(earlier, "table", "threads_ended"),
        making=_timings(later, "making"),
        releasing=_timings(later, "releasing"),
        lock_waits=_lock_waits(later),
        **_waits(later, "preempted"),
        **_waits(later, "sought"),
        sizes=numbers(later, "table", "sizes"),
        calls_while_reading=sum(new.values()) - sum(old.values()),
        **of_section,
        **released,
        **made,
    )


def _timings(table: bytes, name: str) -> Timings:
    at = FIELDS["table"][name][0]
    return Timings(
        number(table, "timings", "calls", at),
        number(table, "timings", "ns", at),
        number(table, "timings", "slow_calls", at),
        number(table, "timings", "slow_ns", at),
        numbers(table, "timings", "bins", at),
        *numbers(table, "table", f"{name}_waits"),
    )


def _lock_waits(table: bytes) -> LockWaits:
    calls, ns, *bins = numbers(table, "table", "lock_waits")
    return LockWaits(calls, ns, tuple(bins))


def _waits(table: bytes, kind: str) -> dict[str, Any]:
    field = {"preempted": "preempted_waits", "sought": "sought_lock_waits"}[kind]
    calls, ns = numbers(table, "table", field)
    return {f"{kind}_calls": calls, f"{kind}_ns": ns}


def _read_heap(path: str, section: _Section, read: Read) -> HeapFigures:
    """Its sums are of one moment where the sequence is even and stays."""
    at, size = FIELDS["head"]["sequence"]
    data = b""
    is_settled = False
    for attempt in range(_SETTLING_READS):
        if attempt:
            time.sleep(_SETTLING_PAUSE_S)
        before = read(at, size)
        data = read(section.offset, CONSTANTS["heap_bytes"])
        is_settled = before == read(at, size) and before[:1] != b"" and before[0] % 2 == 0
        if is_settled:
            break
    if len(data) < CONSTANTS["heap_bytes"]:
        raise PageError(f"{path} is damaged: it ends within its section of the heap")
    locks = [numbers(data, "heap", name) for name in ("page_source_lock", "pool_lock", "heap_lock")]
    remote_frees = numbers(data, "heap", "summed_reasons")[CONSTANTS["remote_free"]]
    return HeapFigures(
        sum(lock[0] for lock in locks),
        sum(lock[1] for lock in locks),
        number(data, "heap", "committed_bytes"),
        number(data, "heap", "purged_bytes"),
        number(data, "heap", "threads"),
        number(data, "heap", "dirty_bytes") if is_settled else None,
        remote_frees if is_settled else None,
    )


def _read_contexts(path: str, section: _Section, page_bytes: int, read: Read) -> dict[str, ContextCalls]:
    """Those with a name; two that are printed alike are one."""
    count, row_bytes, offset = _rows_of(path, section, page_bytes, read, "context")
    data = read(offset, count * row_bytes)
    found: dict[str, ContextCalls] = {}
    for at in range(0, len(data) - row_bytes + 1, row_bytes):
        row = data[at : at + row_bytes]
        if number(row, "context", "state") == CONSTANTS["context_named"]:
            name = text(row, "context", "name")
            sums = ContextCalls(*numbers(row, "context", "sums"))
            found[name] = added(found[name], sums) if name in found else sums
    return found


def _rows_of(path: str, section: _Section, page_bytes: int, read: Read, what: str) -> tuple[int, int, int]:
    """Of a section that names its rows: how many, the bytes of each, where the first begins."""
    kind = {"context": "contexts", "remedy": "remedies"}[what]
    data = read(section.offset, CONSTANTS[f"{kind}_bytes"])
    count, row_bytes, offset = (
        number(data, kind, name) for name in ("row_count", "row_bytes", "rows_offset")
    )
    if row_bytes < CONSTANTS[f"{what}_bytes"] or count > CONSTANTS[f"most_{what}_rows"]:
        raise PageError(f"{path} is damaged: its rows of {kind} have another format")
    if offset + count * row_bytes > page_bytes:
        raise PageError(f"{path} is damaged: its rows of {kind} are outside the file")
    return count, row_bytes, offset


def _read_remedies(path: str, section: _Section, page_bytes: int, read: Read) -> tuple[RemedyFigures, ...]:
    """Those with a site."""
    count, row_bytes, offset = _rows_of(path, section, page_bytes, read, "remedy")
    rows = (read(offset + at * row_bytes, row_bytes) for at in range(count))
    return tuple(_remedy(row) for row in rows if len(row) == row_bytes and row[0])


def _remedy(row: bytes) -> RemedyFigures:
    name = f"{text(row, 'remedy', 'change')}@{text(row, 'remedy', 'site')}"
    return RemedyFigures(name, *(number(row, "remedy", field) for field in RemedyFigures._fields[1:]))
