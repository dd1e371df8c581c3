# SPDX-License-Identifier: MIT
"""The profile of a process that is counted, not sampled: sums without stacks, by context if it names some."""

from __future__ import annotations

import gzip
import time
from collections.abc import Sequence
from typing import NamedTuple

from heapwright.export.protobuf import Strings, fixed, message, number, packed
from heapwright.live import figures
from heapwright.live.page import Calls, Page

# Stands where functions do, so that nobody takes it for a heap of one function.
NO_STACKS = "(no stacks: heapwright count --sample 512k -- PROGRAM has some)"
_NO_CONTEXT = "(no context)"
_VALUES = (
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
    ("alloc_objects", "count"),
    ("alloc_space", "bytes"),
    ("time", "nanoseconds"),
)


class _Row(NamedTuple):
    """frames: innermost first. values: as _VALUES."""

    frames: tuple[str, ...]
    values: tuple[int, ...]


def written_sums(page: Page, form: str) -> bytes:
    """In pprof's format, or as a request for OpenTelemetry's collector. page: one with a section of calls."""
    assert page.calls is not None
    now_ns = time.monotonic_ns()
    took_ns = max(0, now_ns - page.calls.started_ns)
    began_unix_ns = time.time_ns() - took_ns
    write = {"pprof": _pprof, "otlp": _otlp}[form]
    return write(page, _rows(page), began_unix_ns, took_ns)


def _rows(page: Page) -> list[_Row]:
    """What lives is known of the whole process alone, and of no forked child: that releases its parent's."""
    calls = page.calls
    assert calls is not None
    is_whole = not (page.generation or calls.is_attached or calls.has_own_malloc)
    live = (
        (max(0, figures.live_blocks(calls)), max(0, figures.live_bytes(calls) or 0)) if is_whole else (0, 0)
    )
    contexts = figures.context_rows(calls)
    if not contexts:
        sums = (figures.made_blocks(calls), calls.requested_bytes, _time_ns(calls))
        return [_Row((NO_STACKS,), (*live, *sums))]
    rows = [_Row((NO_STACKS,), (*live, 0, 0, 0))]
    for row in contexts:
        values = (0, 0, row["made"], row["requested_bytes"], row["time_ns"] or 0)
        rows.append(_Row((NO_STACKS, row["context"] or _NO_CONTEXT), values))
    return rows


def _time_ns(calls: Calls) -> int:
    """0: too few calls were timed."""
    timed = calls.making.calls + calls.releasing.calls
    ns = calls.making.ns + calls.releasing.ns
    return round(ns / timed * sum(calls.by_function.values())) if timed >= figures.LEAST_TIMED else 0


def _pprof(page: Page, rows: Sequence[_Row], began_unix_ns: int, took_ns: int) -> bytes:
    """Numbers of fields: python/heapwright/export/pprof.py."""
    strings, places = Strings(), _places(rows)
    body = bytearray()
    for name, unit in _VALUES:
        body += message(1, number(1, strings.of(name)) + number(2, strings.of(unit)))
    for row in rows:
        at = packed(1, [places[name] for name in row.frames])
        body += message(2, at + packed(2, row.values))
    for name, place in places.items():
        body += message(4, number(1, place) + message(4, number(1, place)))
        body += message(5, number(1, place) + number(2, strings.of(name)) + number(3, strings.of(name)))
    body += number(9, began_unix_ns) + number(10, took_ns)
    body += message(11, number(1, strings.of("space")) + number(2, strings.of("bytes"))) + number(12, 1)
    body += number(13, strings.of(NO_STACKS)) + number(14, strings.of("inuse_space"))
    for text in strings.texts:
        body += message(6, text.encode())
    return gzip.compress(bytes(body), 6, mtime=0)


def _otlp(page: Page, rows: Sequence[_Row], began_unix_ns: int, took_ns: int) -> bytes:
    """Numbers of fields: python/heapwright/export/otlp.py."""
    strings, places = Strings(), _places(rows)
    period = message(5, number(1, strings.of("space")) + number(2, strings.of("bytes"))) + number(6, 1)
    shared = fixed(3, began_unix_ns) + number(4, took_ns) + period
    profiles = b""
    for index, (name, unit) in enumerate(_VALUES):
        samples = b"".join(
            message(2, number(1, stack) + packed(4, [row.values[index]]))
            for stack, row in enumerate(rows, 1)
            if row.values[index]
        )
        kind = message(1, number(1, strings.of(name)) + number(2, strings.of(unit)))
        profiles += message(2, kind + shared + samples)
    program = page.calls.program if page.calls else ""
    resource = message(1, message(1, b"service.name") + message(2, message(1, program.encode())))
    resource += message(1, message(1, b"process.pid") + message(2, number(3, page.process)))
    resource += message(1, message(1, b"heapwright.incomplete") + message(2, message(1, NO_STACKS.encode())))
    scope = message(1, message(1, b"heapwright"))
    functions = [b"", *(number(1, strings.of(name)) for name in places)]
    locations = [b"", *(message(3, number(1, place)) for place in places.values())]
    stacks = [b"", *(packed(1, [places[name] for name in row.frames]) for row in rows)]
    tables = {
        1: [b""],
        2: locations,
        3: functions,
        4: [b""],
        5: [text.encode() for text in strings.texts],
        6: [b""],
        7: stacks,
    }
    dictionary = b"".join(message(field, entry) for field, entries in tables.items() for entry in entries)
    return message(1, message(1, resource) + message(2, scope + profiles)) + message(2, dictionary)


def _places(rows: Sequence[_Row]) -> dict[str, int]:
    """The frames, from 1."""
    names = dict.fromkeys(name for row in rows for name in row.frames)
    return {name: place for place, name in enumerate(names, 1)}
