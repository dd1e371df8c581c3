# SPDX-License-Identifier: MIT
"""The rule of containers that are copied whole, and how a copy constructor is known."""

from types import SimpleNamespace as Made
from typing import Any

import pytest
from heapwright.explain.advice import containers, copied
from heapwright.explain.advice.evidence import Evidence

INTS = "std::vector<int, std::allocator<int> >"
MAP = "std::map<std::__cxx11::basic_string<char>, int, std::less<void> >"


def location(function: str, file: str = "") -> Any:
    return Made(function=function, file=file, line=0)


@pytest.mark.parametrize(
    ("function", "container"),
    [
        (f"{INTS}::vector({INTS} const&)", "std::vector"),
        (f"{INTS}::vector({INTS} const&, std::allocator<int> const&)", "std::vector"),
        (f"{MAP}::map({MAP} const&)", "std::map"),
        (f"{INTS}::vector({INTS}&&)", ""),
        (f"{INTS}::vector(unsigned long, int const&, std::allocator<int> const&)", ""),
        (f"std::vector<{INTS} >::vector({INTS} const&)", ""),
        ("std::__cxx11::basic_string<char>::basic_string(std::__cxx11::basic_string<char> const&)", ""),
    ],
)
def test_a_copy_constructor_is_known_by_its_name(function: str, container: str) -> None:
    assert containers.copied(location(function)) == container


def of_stacks(*stacks: tuple[int, list[str]]) -> tuple[str, float]:
    """What Evidence says of a site with these stacks: bytes, and the functions between allocator and site."""
    of = Evidence.__new__(Evidence)
    site = location("serve")
    of.report = Made(sites=[Made(location=site)])  # type: ignore[assignment]
    total = sum(size for size, _ in stacks)
    of.facts = Made(stacks={"bytes": [size for size, _ in stacks]}, sites=[Made(bytes=total)])  # type: ignore[assignment]
    of.__dict__["_stacks"] = {0: [(1, number) for number in range(len(stacks))]}
    of._locations = lambda stack: iter([*map(location, stacks[stack][1]), site])  # type: ignore[method-assign]
    return of.copied(0)


def test_a_copy_that_becomes_part_of_a_container_is_none() -> None:
    copy = f"{INTS}::vector({INTS} const&)"
    made = "std::make_shared<std::vector<int>, std::vector<int>&>(std::vector<int>&)"
    assert of_stacks((90, [copy, made]), (10, [made])) == ("std::vector", 0.9)
    assert of_stacks((90, [copy, f"std::vector<{INTS} >::push_back({INTS} const&)"]))[0] == ""


def copied_site(**of: Any) -> Any:
    usual = {
        "allocations": 3000,
        "freed": 3000,
        "lifetime_sum_ns": 3000,
        "own_peak_bytes": 10**5,
        "bytes": 3 * 10**8,
    }
    site = Made(**{**usual, **of})
    return Made(
        candidates=lambda _: [7],
        site=lambda _: site,
        has_times=True,
        times_over=lambda _: site.bytes / site.own_peak_bytes,
        copied=lambda _: of.get("copied", ("std::vector", 0.95)),
        sizes_in_words=lambda _: "",
        time_of=lambda _: 10**6,
    )


def test_what_is_copied_and_dropped_again_is_passed_by_reference() -> None:
    (advice,) = copied._find(copied_site())
    assert "copies a std::vector again and again" in advice.pattern
    assert advice.time_ns == pytest.approx(10**6 + 0.95 * 3 * 10**8), "its calls, and the bytes at 1 ns each"
    for other in (
        {"freed": 2000},
        {"own_peak_bytes": 10**8},
        {"copied": ("", 0.0)},
        {"copied": ("std::map", 0.5)},
    ):
        assert list(copied._find(copied_site(**other))) == [], other
