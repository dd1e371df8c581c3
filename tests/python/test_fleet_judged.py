# SPDX-License-Identifier: MIT
"""What is written of a recording's remedies: each once, with what a replay measured or the bound."""

from __future__ import annotations

from typing import Any

import pytest
from heapwright import explain
from heapwright.explain.replayed import AT_SCAN, ReplayedFigure, records
from heapwright.fleet import judged

LESS = ReplayedFigure("peak", "bytes", -9000.0, -0.5, "better", "glibc")
AT = LESS._replace(label=AT_SCAN, difference=-4096.0)
FASTER = LESS._replace(label="CPU time", unit="ns", difference=-70.0)
WORSE = LESS._replace(difference=5.0, verdict="worse")


def remedy(kind: str, helps: str, said: str, figures: list[ReplayedFigure]) -> dict[str, Any]:
    return {
        "kind": kind, "what": f"{kind}!", "helps": helps, "judged": said, "replayed": records(figures),
        "bytes": 10_000, "replay_set": f"glibc.{kind}=1", "replay_change": "",
    }  # fmt: skip


def test_remedies_count_once_with_what_a_replay_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    advice = {
        "rule": "arena_count", "action": "use one arena", "judged": "measured", "replayed": records([FASTER]),
        "replay_set": "", "replay_change": "arena@3", "gain_bytes": 0, "gain_ns": 99, "function": "serve(int)",
        "name": "serve  a.cpp:7",
    }  # fmt: skip
    answers = {
        "cause": {
            "remedies": [
                remedy("arenas", "yes", "measured", [LESS, AT, WORSE]),
                remedy("threshold", "no", "bound", []),  # does not help
                remedy("trim", "yes", "refuted", [WORSE]),
                remedy("decay", "partly", "bound", []),
            ]
        },
        "advice": {"advice": [advice | {"replay_change": "", "replay_set": "glibc.arenas=1"}, advice]},
    }
    monkeypatch.setattr(explain, "answers", lambda report, names: answers)
    rows = judged.remedies_of(None)  # type: ignore[arg-type]
    assert [(row["kind"], row["judged"]) for row in rows] == [
        ("arenas", "measured"), ("trim", "refuted"), ("decay", "bound"), ("arena_count", "measured"),
    ]  # fmt: skip
    assert [row["measured_bytes"] for row in rows] == [4096, None, None, 0]  # at the scan, not at the peak
    assert [row["measured_ns"] for row in rows] == [0, None, None, 70]
    assert rows[3]["what"] == "use one arena: serve(int)"
    assert (rows[2]["bound_bytes"], rows[3]["bound_bytes"], rows[3]["bound_ns"]) == (10_000, None, 99)
