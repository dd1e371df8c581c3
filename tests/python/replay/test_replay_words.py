# SPDX-License-Identifier: MIT
"""What the answer says where nothing is better."""

from __future__ import annotations

import pytest
from heapwright.measure.verdict import SAME, UNKNOWN, WORSE
from heapwright.replay import show
from replay_documents import document_of


def test_what_is_not_better_is_said_with_its_reason() -> None:
    def said(*verdicts: str, runs: int = 3) -> str:
        candidates = [
            {"name": name, "figures": {"time_ns": {"verdict": verdict, "at_once": None}}}
            for name, verdict in zip("abc", (SAME, *verdicts), strict=True)
        ]
        return show.verdict(document_of({"reference": "a", "candidates": candidates, "runs": runs}))[0]

    assert said(WORSE, WORSE) == "No candidate has less time in the heap at full speed than a."
    assert said(WORSE, SAME) == (
        "No candidate has less time in the heap at full speed than a by more than the replay's noise and error."
    )
    assert said(SAME, SAME) == "No difference in CPU time is larger than the replay's noise and error."
    assert said(UNKNOWN, UNKNOWN) == (
        "Whether a candidate has less time in the heap at full speed than a is not known; see the notes."
    )
    assert said(UNKNOWN, UNKNOWN, runs=2) == "2 runs of each cannot rank CPU time; use --runs 3."
    assert said(UNKNOWN, UNKNOWN, runs=1) == "1 run of each cannot rank CPU time; use --runs 3."


def test_in_markdown_call_sites_are_a_list_and_keep_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["Most at these:", "  −5 ns ± 1 ns  9 calls  std::vector<int>::grow(int*)", "At 5 ms:"]
    monkeypatch.setattr(show.site_words, "about", lambda *_: texts)
    monkeypatch.setattr(show, "below", lambda _: ["How true it is.", "note: a_b"])
    lines = show.as_markdown(document_of({"reference": "a", "runs": 3}), show.Shown()).splitlines()
    at = lines.index("Most at these:")
    assert lines[at + 1 :] == [
        "",
        r"- −5 ns ± 1 ns  9 calls  std::vector\<int\>::grow(int\*)",
        "",
        "At 5 ms:",
        "",
        "",
        "- How true it is.",
        r"- note: a\_b",
    ]
