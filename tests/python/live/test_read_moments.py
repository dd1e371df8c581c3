# SPDX-License-Identifier: MIT
"""Pages of processes that go on while they are read: two moments, as close together as can be."""

from counter_page_bytes import make_page, put, table_at
from heapwright.live import figures
from heapwright.live.page import Calls, parse_page


def test_a_process_that_goes_on_meanwhile_never_has_less_than_nothing() -> None:
    """Each reading of the tables finds ten more blocks made and released."""
    data = make_page(1)
    reads = 0

    def read(start: int, count: int) -> bytes:
        nonlocal reads
        if start == table_at(0):
            reads += 1
            put(data, "table", "calls", 10 * reads, table_at(0), index=0)
            put(data, "table", "calls", 10 * reads, table_at(0), index=5)
        return bytes(data[start : start + count])

    calls = parse_page("page", len(data), read).calls
    assert calls is not None
    assert figures.live_blocks(calls) == 10
    assert calls.calls_while_reading == 20


def read_while_it_goes_on(calls_before_each_read: list[int]) -> Calls:
    """A process that makes and frees so many blocks before each reading of its tables, and 10 more live."""
    data = make_page(1)
    total, left = 0, list(calls_before_each_read)

    def read(start: int, count: int) -> bytes:
        nonlocal total
        if start == table_at(0):
            total += left.pop(0) if left else 0
            put(data, "table", "calls", total + 10, table_at(0), index=0)
            put(data, "table", "calls", total, table_at(0), index=5)
        return bytes(data[start : start + count])

    calls = parse_page("page", len(data), read).calls
    assert calls is not None
    return calls


def test_moments_that_lie_far_apart_are_read_again() -> None:
    calls = read_while_it_goes_on([1000, 50_000, 1000, 3])
    assert (figures.live_blocks(calls), calls.calls_while_reading) == (13, 6)


def test_of_readings_that_lie_far_apart_the_closest_is_taken() -> None:
    calls = read_while_it_goes_on([0, 9000, 0, 400, 0, 8000] + [0, 7000] * 20)
    assert (figures.live_blocks(calls), calls.calls_while_reading) == (410, 800)
