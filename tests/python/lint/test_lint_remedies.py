# SPDX-License-Identifier: MIT
"""Which remedy a finding names: the one of explain's advice where it fits its owner, else its kind's."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest
from heapwright.lint import remedies
from heapwright.lint.expression import ELEMENT, LOCAL, MEMBER, PARAMETER, RETURNED, Owner

RESERVE: Any = Made(
    rule=Made(name="reserve", action="reserve it", in_c="", part="", when_not=("never",)),
    advice=Made(confidence="high", sites=(7,), time_ns=1, bytes=0, what=""),
    is_cpp=True,
    time_share=0.1,
    bytes_share=0.0,
    replay_change="",
)


def action(kind: str, owner: str, *proposals: Any) -> str:
    of: Any = Made(is_a_pool=lambda _: False, time_ns=1000)
    costs: Any = Made(allocations=1000, live_at_end_blocks=0, time_ns=10)
    return remedies.choose(kind, Owner(owner, "it"), costs, (7,), of, proposals).action


@pytest.mark.parametrize(
    ("owner", "fits"), [(LOCAL, True), (RETURNED, True), (MEMBER, False), (PARAMETER, False)]
)
def test_what_call_after_call_fills_is_not_reserved(owner: str, fits: bool) -> None:
    """There reserve() takes the exact size each time, and the vector grows one by one."""
    assert (action("vector-growth", owner, RESERVE) == "reserve it") == fits


def test_a_kept_vector_is_left_to_who_keeps_it() -> None:
    assert "clear it if its owner is remade" in action("vector-growth", MEMBER)
    assert "let the caller keep it" in action("vector-growth", PARAMETER)


def test_a_string_that_becomes_an_element_is_not_kept_elsewhere() -> None:
    assert "one buffer for the characters of all elements" in action("string-made", ELEMENT)
