# SPDX-License-Identifier: MIT
"""Every variant meets the same slow minutes."""

from __future__ import annotations

from heapwright.measure.turns import turns


def test_each_round_has_every_variant_of_every_item_and_another_begins() -> None:
    assert list(turns(2, ["a", "b"], [1, 2])) == [
        (0, "a", 1), (0, "a", 2), (0, "b", 1), (0, "b", 2),
        (1, "a", 2), (1, "a", 1), (1, "b", 2), (1, "b", 1),
    ]  # fmt: skip


def test_items_may_be_read_once_only() -> None:
    assert len(list(turns(3, iter("ab"), "xyz"))) == 18
