# SPDX-License-Identifier: MIT
"""Growth of memory that the program maps itself, which no heap call shows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from heapwright.explain import growth, screen
from heapwright.explain.outside_growth import outside_rows
from heapwright.explain.report import Answer
from heapwright.model.facts import OwnMoment
from heapwright.model.symbols import Location

_MIB = 1 << 20
_SECOND_NS = 1_000_000_000
_PYTHON = {"runtime": "Python"}


def report(
    courses: dict[str, list[int]],
    conditions: dict[str, str],
    seconds: int = 30,
    library: str = "/usr/bin/python3.11",
) -> Any:
    """A report of so many seconds: by function, what its mappings held at scans spread over them."""
    moments, sites = [], []
    for number, (function, held) in enumerate(courses.items()):
        sites.append(SimpleNamespace(location=Location(function, "", 0, False, library), number=number))
        for at, value in enumerate(held):
            time_ns = at * seconds * _SECOND_NS // (len(held) - 1)
            moments.append(OwnMoment(time_ns, number, value))
    highest = SimpleNamespace(resident_bytes=max(map(max, courses.values())))
    return SimpleNamespace(
        facts=SimpleNamespace(
            own_moments=moments,
            timeline=[highest],
            totals=SimpleNamespace(span_ns=seconds * _SECOND_NS),
        ),
        sites=sites,
        top=10,
        trace=SimpleNamespace(metadata=SimpleNamespace(condition_values=conditions)),
    )


def test_arenas_that_grow_have_their_rate_and_what_to_run_again() -> None:
    rising = [3 * _MIB * at for at in range(31)]  # one a second
    level = [90 * _MIB] * 31
    found = outside_rows(report({"_PyObject_ArenaMmap": rising, "new_mmap_object": level}, _PYTHON))
    assert [site.number for site, _ in found] == [0]
    row = found[0][1]
    assert abs(row.slope_bytes_per_s - 3 * _MIB) < 0.01 * _MIB
    assert row.end_bytes == 90 * _MIB
    assert row.again == "PYTHONMALLOC=malloc"


def test_arenas_that_fill_and_stay_do_not_grow() -> None:
    filled = [min(40, 4 * at) * _MIB for at in range(61)]
    waves = [(at % 10) * 4 * _MIB for at in range(61)]
    assert outside_rows(report({"_PyObject_ArenaMmap": filled, "map_pool": waves}, _PYTHON)) == []


def test_a_short_run_or_a_few_scans_tell_nothing() -> None:
    rising = [3 * _MIB * at for at in range(31)]
    assert outside_rows(report({"map_pool": rising}, {}, seconds=9)) == []
    assert outside_rows(report({"map_pool": rising[:15]}, {})) == []


def test_other_pools_name_their_callers_by_skip() -> None:
    rising = [3 * _MIB * at for at in range(31)]
    (_, row), *_ = outside_rows(report({"palloc": rising}, {}, library="/opt/app"))
    assert (row.again, row.skip) == ("", "palloc")
    (_, row), *_ = outside_rows(report({"app+0x1f": rising}, {}, library="app"))
    assert (row.again, row.skip) == ("", "")


def _row(slope: int, **others: Any) -> Answer:
    return {
        "name": "palloc", "slope_bytes_per_s": slope, "since_ns": 0, "end_bytes": 90 * _MIB, "again": "",
        "skip": "palloc", "to_limit_ns": -1, **others,
    }  # fmt: skip


def test_the_faster_growth_is_told_first() -> None:
    answer = {
        "growth_bytes_per_s": 3.1 * _MIB, "sites": [], "peak_bytes": 100 * _MIB,
        "outside": [_row(3 * _MIB)],
    }  # fmt: skip
    assert growth.QUESTION.findings(answer)[0].text == (
        "resident memory outside malloc grows by 3.00 MiB/s, to 90.0 MiB mapped by palloc; "
        "--skip palloc names its callers"
    )
    assert growth.fastest_outside(answer) == "it grows by 3.00 MiB/s outside malloc, most by palloc"
    assert growth.fastest_outside({**answer, "growth_bytes_per_s": 7 * _MIB}) == ""
    again = {**answer, "outside": [_row(3 * _MIB, again="PYTHONMALLOC=malloc")]}
    assert growth.QUESTION.findings(again)[0].text.endswith(
        "run it again with PYTHONMALLOC=malloc, and each object is a call with its own site"
    )


def test_what_grows_outside_is_not_said_to_need_no_fix() -> None:
    free = dict.fromkeys(
        (
            "free_bytes",
            "ambiguous_bytes",
            "taken_again_bytes",
            "recorder_bytes",
            "resident_bytes",
            "huge_bytes",
            "time_ns",
        ),
        0,
    )
    kinds = [{"kind": kind, "bytes": 0} for kind in ("live", "others")]
    answer = {**free, "verdict": "nothing", "kinds": kinds, "has_unseen_calls": False}
    grows = {"growth_bytes_per_s": 3 * _MIB, "outside": [_row(3 * _MIB)]}
    assert screen.why_resident(answer, {}).startswith("nothing to fix: ")
    told = screen.why_resident(answer, {"growth": grows})
    assert "nothing to fix" not in told
    assert told.endswith("; it grows by 3.00 MiB/s outside malloc, most by palloc")
