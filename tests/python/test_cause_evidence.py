# SPDX-License-Identifier: MIT
"""What tells a cause and excludes the others, in words; huge pages among them."""

from __future__ import annotations

from typing import Any

import pytest
from heapwright.explain import QUESTIONS, cause_words, replayed
from heapwright.explain.allocators import Allocator
from heapwright.explain.cause_evidence import evidence_of
from heapwright.explain.cause_kinds import NAMES, Kinds
from heapwright.explain.remedies import remedies
from heapwright.explain.remedy import Case
from heapwright.explain.replayed import ReplayedFigure
from heapwright.explain.telling_scan import most_free
from heapwright.model.facts import Residency
from test_causes import MEBIBYTE, zeros


def answer(allocator: str, cause: str, **bytes_of: int) -> dict[str, Any]:
    moment = zeros(Residency, huge_bytes=64 * MEBIBYTE, huge_unused_bytes=bytes_of.get("huge_pages", 0))
    kinds = Kinds(
        moment, (), {**dict.fromkeys(NAMES, 0), **bytes_of}, None, Allocator(allocator, allocator, 8, {}), 1
    )
    evidence = evidence_of(kinds, (), "library libc.so.6")
    rows = [
        {"kind": kind, "name": name, "bytes": kinds.bytes_of[kind], "evidence": evidence[kind]}
        for kind, name in NAMES.items()
    ]
    resident = sum(bytes_of.values())
    return {"kinds": rows, "cause": cause, "allocator": allocator, "resident_bytes": resident}


def told(of: dict[str, Any]) -> list[tuple[str, str]]:
    pairs = cause_words.evidence_in_words(of)
    assert pairs is not None
    return [(name, text.plain) for name, text in pairs.rows]


def test_the_cause_comes_first_and_the_others_with_what_excludes_them() -> None:
    rows = told(
        answer(
            "glibc", "huge_pages", huge_pages=50 * MEBIBYTE, untrimmed=40 * MEBIBYTE, scattered=2 * MEBIBYTE
        )
    )
    assert rows[0] == (
        "the cause, 50.0 MiB",
        "unused parts of huge pages: 64.0 MiB are on huge pages; no block has used these since the kernel "
        "filled them",
    )
    by_name = {text.partition(": ")[0]: (name, text) for name, text in rows}
    assert by_name["whole pages, not given back"][0] == "in part, 40.0 MiB"
    assert by_name["beside live blocks"][0] == "little, 2.00 MiB"
    assert by_name["in further arenas"] == (
        "none",
        "in further arenas: 0 arenas besides the main heap",
    )
    assert "whole pages, kept by the allocator" not in by_name, "of other allocators"
    assert "live" not in by_name


def test_kinds_of_the_c_library_do_not_exclude_another_allocators() -> None:
    names = {text.partition(": ")[0] for _, text in told(answer("jemalloc 5.3.0", "kept", kept=MEBIBYTE))}
    assert names == {
        "beside live blocks",
        "whole pages, kept by the allocator",
        "unused parts of huge pages",
        "rounding and headers",
        "not the heap",
    }


def test_a_verdict_without_a_cause_has_no_evidence_in_words() -> None:
    assert cause_words.evidence_in_words(answer("glibc", "", untrimmed=1)) is None


def test_what_huge_pages_brought_back_counts_as_free() -> None:
    before = zeros(Residency, free_page_bytes=10 * MEBIBYTE)
    after = zeros(Residency, huge_unused_bytes=40 * MEBIBYTE)
    assert most_free((before, after), lambda _: False) == 1


@pytest.mark.parametrize(
    ("family", "settings", "what"),
    [
        ("glibc", {"hugetlb": "1"}, "unsetting glibc.malloc.hugetlb=1"),
        ("glibc", {"hugetlb": "0"}, "no huge pages (prctl PR_SET_THP_DISABLE)"),
        ("jemalloc", {}, "thp:never in MALLOC_CONF"),
        ("mimalloc", {}, "no huge pages (prctl PR_SET_THP_DISABLE)"),
    ],
)
def test_what_keeps_huge_pages_away(family: str, settings: dict[str, str], what: str) -> None:
    kinds = Kinds(
        zeros(Residency),
        (),
        {**dict.fromkeys(NAMES, 0), "huge_pages": 9 * MEBIBYTE, "scattered": MEBIBYTE},
        None,
        Allocator(family, family, 8, settings),
        1,
    )
    found = next(one for one in remedies(Case(kinds, (), (), 0)) if one.kind == "huge_pages")
    assert (found.what, found.bytes, found.helps) == (what, 9 * MEBIBYTE, "yes")


def test_what_is_the_recorders_is_named_in_the_sentence() -> None:
    of = answer("glibc", "", live=64 * MEBIBYTE)
    of |= dict.fromkeys(
        (
            "free_bytes",
            "ambiguous_bytes",
            "lasted_ns",
            "taken_again_bytes",
            "soon_ns",
            "time_ns",
            "huge_bytes",
        ),
        0,
    )
    of |= {"unknown_because": "", "has_unseen_calls": False, "verdict": "nothing", "holders": []}
    assert "64.0 MiB resident at 0 ns, 3.00 MiB of it the recorder's, 64.0 MiB live" in cause_words.sentence(
        of | {"recorder_bytes": 3 * MEBIBYTE}
    )
    assert "recorder" not in cause_words.sentence(of | {"recorder_bytes": 0})


def test_what_changed_during_the_scan_is_not_surely_free() -> None:
    """A buffer that realloc grew while it was scanned: 24 MiB of its pages had no owner."""
    of = answer("glibc", "", live=64 * MEBIBYTE)
    of |= dict.fromkeys(("taken_again_bytes", "soon_ns", "time_ns", "huge_bytes", "recorder_bytes"), 0)
    of |= {"free_bytes": 24 * MEBIBYTE, "ambiguous_bytes": 23 * MEBIBYTE, "lasted_ns": 10**8}
    of |= {"unknown_because": "", "has_unseen_calls": False, "verdict": "nothing", "holders": []}
    said = "24.0 MiB free for 100 ms (of blocks that changed meanwhile, at most 23.0 MiB), "
    assert said in cause_words.sentence(of)
    assert "meanwhile" not in cause_words.sentence(of | {"ambiguous_bytes": 0})
    calm = zeros(Residency, free_page_bytes=10 * MEBIBYTE)
    busy = zeros(Residency, free_page_bytes=24 * MEBIBYTE, ambiguous_bytes=23 * MEBIBYTE)
    assert most_free((busy, calm), lambda _: False) == 1


def test_every_further_table_of_a_question_has_a_title() -> None:
    for question in QUESTIONS:
        for number, table in enumerate(question.tables):
            is_seen = any(column.label for column in table.columns)
            assert not is_seen or bool(table.title) == (number > 0) or question.name == "held", (
                question.name,
                table.key,
            )


def test_of_two_prices_about_equal_the_setting_is_named() -> None:
    """Both thresholds took 75 ms more and returned all; told was another allocator that took 91 and returned less."""

    def remedy(what: str, kind: str, more_ns: float, less: float) -> dict[str, Any]:
        figures = [
            ReplayedFigure("CPU time", "ns", more_ns, 4.6, "worse", "glibc", 1e6),
            ReplayedFigure("at the scan", "bytes", -less * MEBIBYTE, -0.9, "better", "glibc", 1e6),
        ]
        return {"what": what, "kind": kind, "judged": "refuted", "replayed": replayed.records(figures)}

    thresholds = remedy("both thresholds", "threshold", 91.9e6, 48.8)
    other = remedy("another allocator", "allocator", 90.5e6, 45.1)
    cheaper = remedy("another allocator", "allocator", 20e6, 45.1)
    assert "costs time: both thresholds;" in cause_words._none({"remedies": [thresholds, other]})
    assert "costs time: another allocator;" in cause_words._none({"remedies": [thresholds, cheaper]})
