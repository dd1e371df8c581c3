# SPDX-License-Identifier: MIT
"""What an allocator would ignore in silence is refused."""

from __future__ import annotations

import pytest
from heapwright.measure.allocators import Allocator
from heapwright.measure.errors import MeasureError
from heapwright.replay import candidates, obedience, settings
from heapwright.replay.candidates import Candidate


class _Shelf:
    """Allocators of which one complains and one lists its options, where reset_delay is an old name of one."""

    def said(self, allocator: Candidate) -> str:
        variables = allocator.variables
        if "MIMALLOC_VERBOSE" in variables and "mimalloc" in allocator.name:
            delay = variables.get("MIMALLOC_RESET_DELAY") or variables.get("MIMALLOC_DECOMMIT_DELAY") or "25"
            return f"mimalloc: option 'verbose': 1\nmimalloc: option 'decommit_delay': {delay}\n"
        return "Invalid conf pair: thp:always" if "thp" in str(variables) else ""


def check(name: str, text: str) -> None:
    allocator, chosen = settings.parse(f"{name}.{text}")
    made = Candidate(f"{name} {text}", "1", "/x.so", settings.environment_of(allocator, chosen))
    obedience.check(_Shelf(), made, allocator, chosen)  # type: ignore[arg-type]


def test_what_an_allocator_complains_of_is_refused() -> None:
    check("jemalloc", "narenas=1")
    with pytest.raises(MeasureError, match="jemalloc thp=always does not accept it: Invalid conf pair"):
        check("jemalloc", "thp=always")


def test_an_option_that_is_not_listed_is_refused() -> None:
    check("mimalloc", "decommit_delay=25")
    check("mimalloc", "reset_delay=7")
    with pytest.raises(
        MeasureError, match="this mimalloc has no setting purge_delay; did you mean decommit_delay"
    ):
        check("mimalloc", "purge_delay=7")


@pytest.mark.parametrize(
    ("reserved", "mode", "is_refused"),
    [(0, "madvise", True), (0, "never", True), (0, "always", False), (3, "never", False)],
)
def test_huge_pages_of_tbb_are_refused_where_there_are_none(
    monkeypatch: pytest.MonkeyPatch, reserved: int, mode: str, is_refused: bool
) -> None:
    monkeypatch.setattr("heapwright.measure.machine.reserved_huge_pages", lambda: reserved)
    monkeypatch.setattr("heapwright.measure.machine.transparent_huge_pages", lambda: mode)
    check("tbb", "huge_pages=0")
    if is_refused:
        with pytest.raises(MeasureError, match=f"has no effect: .* transparent ones are '{mode}'"):
            check("tbb", "huge_pages=1")
    else:
        check("tbb", "huge_pages=1")


def test_tunables_are_those_of_the_glibc_that_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obedience, "tunables", lambda: {"top_pad": range(100, 201)})
    check("glibc", "top_pad=100")
    check("glibc", "top_pad=200")
    for text in ("top_pad=99", "top_pad=1k"):
        with pytest.raises(MeasureError, match=r"glibc\.top_pad takes 100 to 200, not"):
            check("glibc", text)
    with pytest.raises(MeasureError, match="this glibc has no setting hugetlb; it has: top_pad"):
        check("glibc", "hugetlb=1")


def test_a_glibc_that_does_not_say_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obedience, "tunables", dict)
    check("glibc", "arena_max=0")


def test_every_setting_of_glibc_is_a_tunable_here() -> None:
    found = obedience.tunables()
    if not found:
        pytest.skip("needs glibc 2.33")
    assert set(settings.KNOWN["glibc"]) <= set(found)


def test_a_search_leaves_out_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Known(_Shelf):
        def choose(self, wanted: list[str]) -> list[Allocator]:
            return [Allocator(name, "1", name) for name in wanted or ["glibc", "jemalloc"]]

    monkeypatch.setattr(settings, "GRID", {"jemalloc": ("thp=always", "narenas=1")})
    monkeypatch.setattr(candidates, "_recorded", lambda *_: None)
    chosen = candidates.choose(Known(), None, [], [], True)  # type: ignore[arg-type]
    assert [c.name for c in chosen.candidates] == ["glibc", "jemalloc", "jemalloc narenas=1"]
    assert any(note.startswith("not tried: jemalloc thp=always") for note in chosen.notes)
