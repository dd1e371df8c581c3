# SPDX-License-Identifier: MIT
"""What is to be known before a comparison: what its notes say of two sides."""

from __future__ import annotations

from heapwright.compare.document import Side
from heapwright.compare.load import Per, _about_sides, _about_time
from heapwright.compare.recorded import Run

WHOLE_RUN = Per("", (lambda *_: 1.0, lambda *_: 1.0))


def side(calls: int, duration_ns: int, runs: int = 1) -> Side:
    run = Run({"calls": calls, "bytes": 100}, {}, duration_ns, 1, 1.0)
    return Side((), "", "shop", "here", "glibc", (run,) * runs)


def test_equal_work_takes_no_other_load() -> None:
    """Its runs lasted differently long all the same."""
    assert not list(_about_time(side(5, 1000), side(5, 2000), WHOLE_RUN))
    assert list(_about_time(side(5, 1000), side(6, 2000), WHOLE_RUN))
    assert not list(_about_time(side(5, 1000), side(6, 1200), WHOLE_RUN))


def test_one_build_that_makes_other_calls_is_doubted() -> None:
    (doubted,) = _about_sides(side(5, 1000), side(6, 1000), True)
    assert "per side of the same build" in doubted
    for calls, is_one_build in ((5, True), (6, False)):
        (note,) = _about_sides(side(5, 1000), side(calls, 1000), is_one_build)
        assert "if the program varies" in note
    assert not list(_about_sides(side(5, 1000, 2), side(6, 1000, 2), True))
