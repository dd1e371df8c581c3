# SPDX-License-Identifier: MIT
"""Sites that pin memory together, on pages with blocks of several of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from heapwright.explain import cause_words
from heapwright.explain.joint_pins import JointPins, joint_pins
from heapwright.model.facts import PinSet, PinSite
from heapwright.model.symbols import Location

_MIB = 1 << 20
_BLOCKS = 1000
_LIVE = 64_000


def found(
    alone: list[int],
    sets: dict[tuple[int, ...], int],
    functions: list[str] | None = None,
    scattered: int = 600 * _MIB,
) -> JointPins | None:
    """alone: what each site pins by itself; sets: what several pin together; none of their blocks is freed."""
    functions = functions or [f"make_{number}" for number in range(len(alone))]
    pins, rows, numbers = [], [], []
    for number, pinned in enumerate(alone):
        shared = sum(size for sites, size in sets.items() if number in sites)
        pins.append(
            PinSite(0, number, _BLOCKS, _LIVE, 0, pinned, 0, _LIVE, 0, 0, shared)._replace(site=number)
        )
    for sites, pinned in sets.items():
        rows.append(PinSet(0, len(numbers), len(sites), pinned // 4096, pinned))
        numbers += sites
    facts = SimpleNamespace(
        pins=pins,
        pin_sets=rows,
        pin_set_sites=numbers,
        sites=[SimpleNamespace(own_peak_bytes=_LIVE)] * len(alone),
    )
    sites = [SimpleNamespace(location=Location(name, "", 0, False, "app")) for name in functions]
    kinds: Any = SimpleNamespace(bytes_of={"scattered": scattered}, allocator=SimpleNamespace(header_bytes=8))
    report: Any = SimpleNamespace(facts=facts, sites=sites)
    return joint_pins(report, kinds, 0)


def test_four_sites_on_the_same_pages_pin_these_together() -> None:
    joint = found([4096, 0, 0, 8192, 20 * _MIB], {(0, 1, 2, 3): 512 * _MIB, (0, 4): 4096})
    assert joint is not None
    assert sorted(joint.sites) == [0, 1, 2, 3]
    assert joint.pinned_bytes == 512 * _MIB + 3 * 4096
    assert joint.blocks == 4 * _BLOCKS
    # Packed, their blocks take pages for 4 * 72,000 bytes, of which 4 * 64,000 were used before.
    assert joint.saves_most_bytes == joint.pinned_bytes - (71 * 4096 - 4 * _LIVE)
    assert joint.saves_least_bytes == joint.saves_most_bytes, "none of them is ever freed"


def test_sites_of_one_function_are_one() -> None:
    names = ["parse"] * 6 + ["other"]
    joint = found([50 * _MIB] * 6 + [0], {(0, 6): 4096}, names)
    assert joint is not None
    assert (sorted(joint.sites), joint.functions) == ([0, 1, 2, 3, 4, 5], 1)
    assert joint.pinned_bytes == 300 * _MIB


def test_one_site_that_pins_most_is_no_group() -> None:
    assert found([500 * _MIB, 20 * _MIB], {(0, 1): 10 * _MIB}) is None
    assert found([], {}) is None


def test_little_together_or_among_many_is_no_group() -> None:
    assert found([0] * 4, {(0, 1, 2, 3): 100 * _MIB}) is None, "of 600"
    many = {(number, number + 1): 40 * _MIB for number in range(0, 30, 2)}
    assert found([0] * 31, many) is None, "no four functions pin a quarter"


def test_the_headline_names_the_group() -> None:
    answer = {
        "cause": "scattered",
        "joint_bytes": 512 * _MIB,
        "joint_sites": ["a", "b", "c", "d"],
        "sites": [],
    }
    assert cause_words._of_cause(answer, {"scattered": 520 * _MIB}) == (
        "520 MiB of it beside live blocks, 512 MiB by blocks of a and 3 other sites together"
    )
