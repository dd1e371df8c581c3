# SPDX-License-Identifier: MIT
"""What was advised beside what happened: of figures made by hand, and of which sites of both sides."""

from __future__ import annotations

import pytest
from heapwright.cli import run_command
from heapwright.compare import advised, noise
from heapwright.compare.advised import Advised
from heapwright.compare.matching import Key
from heapwright.compare.recorded import Run, SiteOfRun
from heapwright.compare.sites import pairs_of
from heapwright.model import Location


@pytest.mark.parametrize(
    ("a", "b", "said", "is_least", "outcome"),
    [
        ([100, 102, 101], [60, 61, 59], 50, False, "as-said"),
        ([100, 102, 101], [60, 61, 59], 40, False, "as-said"),  # 41, and run spread 2
        ([100, 102, 101], [60, 61, 59], 30, False, "more-than-said"),
        ([100, 102, 101], [60, 61, 59], 30, True, "as-said"),
        ([100, 102, 101], [60, 61, 59], 50, True, "less-than-said"),
        ([100, 102, 101], [101, 100, 102], 50, False, "nothing"),
        ([100, 102, 101], [140, 141, 142], 50, False, "worse"),
        ([100], [60], 50, False, "not-known"),
    ],
)
def test_what_happened_beside_what_was_said(
    a: list[float], b: list[float], said: int, is_least: bool, outcome: str
) -> None:
    assert advised.outcome(said, is_least, noise.compare(a, b, is_exact=False)) == outcome


def run(sites: dict[Key, tuple[int, str]]) -> Run:
    """sites: allocations, and the caller."""
    found = {
        key: SiteOfRun(
            {"calls": calls, "bytes": 10 * calls}, (Location(key.function, "", 0, False, ""),), caller
        )
        for key, (calls, caller) in sites.items()
    }
    return Run({"calls": 1}, found, 1, 1, 1.0)


def test_a_site_is_followed_to_its_new_name_and_into_its_caller() -> None:
    old, new, stays = Key("", "make"), Key("", "make_it"), Key("", "other")
    a, b = run({old: (7, "main"), stays: (3, "main")}), run({new: (7, "main"), stays: (3, "main")})
    pairs = pairs_of([a], [b])
    (said,) = advised.with_keys([Advised("rule", "make", (1,), {}, False, "")], [stays, old])
    (found,) = advised.pairs_of(said, pairs)
    assert (found.state, found.key, found.b["calls"]) == ("renamed", new, [7])
    caller, part = Key("", "fill"), Key("", "grow")
    a = run({caller: (5, "main"), part: (2, "fill")})
    pairs = pairs_of([a], [run({caller: (7, "main")})])
    (said,) = advised.with_keys([Advised("rule", "grow", (0, 1), {}, False, "")], [part, caller])
    (found,) = advised.pairs_of(said, pairs)
    assert (found.state, found.key, found.a["calls"]) == ("inlined", caller, [7])


def test_a_replay_says_nothing_without_the_advice(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["compare", "a.heapwright", "b.heapwright", "--replayed", "r.json"]) == 2
    assert "--replayed needs --advice" in capsys.readouterr().err
