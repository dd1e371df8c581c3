# SPDX-License-Identifier: MIT
"""The table in docs/try.md, of bench/results/tried.json."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import documents
from heapwright.report import markdown, units
from heapwright.trial.figures import BY_KEY, FIGURES
from taken import each, fields

# A figure of try beside those of a replay that foretell it, the nearest first.
REPLAYED = {
    "peak_bytes": ("peak",),
    "steady_bytes": ("at the scan", "mean"),
    "cpu_ns": ("CPU time",),
}
# As near as runs of one program are to each other.
_NEAR = 0.1
# Wall follows from the others, and other work on the machine changes it.
_GOALS = [figure.key for figure in FIGURES if figure.is_goal and figure.key != "wall_ns"]

Row = Mapping[str, Any]


def times(row: Row, key: str) -> float:
    """How many times better, as a logarithm; 0: no difference."""
    one = row["figures"].get(key)
    if one is None or one["verdict"] not in ("better", "worse"):
        return 0.0
    value = abs(one["value"])
    found = abs(math.log(max(value, 1.0) / max(abs(one["value"] - one["difference"]), 1.0)))
    return found if one["verdict"] == "better" else -found


def told(case: Row) -> Row:
    """The remedy that the table tells of, and its figure: what try calls best, or with nothing better
    the first."""
    rows, by_hand = case["remedies"][1:], case["by_hand"]
    row = next((one for one in rows if one["remedy"] == case["best"]), rows[0] if rows else None)
    if row is None:
        return {"said": case["said"], "remedies": 0}
    of = by_hand if by_hand and not case["best"] else row
    key = max(_GOALS, key=lambda one: times(of, one))
    said = {one["figure"]: one for one in row["replayed"]}
    foretold = next((said[name] for name in REPLAYED.get(key, ()) if name in said), None)
    kept = ("difference", "relative_difference", "verdict")
    return {
        "remedy": row["remedy"],
        "helps": bool(case["best"]),
        "remedies": len(rows),
        "figure": key,
        "unit": case["metric_unit"] if key == "metric" else BY_KEY[key].unit,
        "runs": case["runs"],
        "replayed": foretold and {name: foretold[name] for name in kept},
        "tried": row["failure"] or row["figures"].get(key),
        "by_hand": by_hand and by_hand["figures"].get(key),
    }


TAKEN = {"tried": fields({"cases": each(told)})}


def is_near(tried: Mapping[str, Any], by_hand: Mapping[str, Any]) -> bool:
    """Whether runs of both overlap, or the two differ by no more than a tenth of what is gained."""
    if tried["low"] <= by_hand["high"] and by_hand["low"] <= tried["high"]:
        return True
    return bool(abs(tried["value"] - by_hand["value"]) <= _NEAR * abs(by_hand["difference"]))


def _cell(one: Row | str | None, unit: str) -> str:
    if not isinstance(one, Mapping):
        return one or "–"
    if one["verdict"] == "same":
        return "no difference"
    before = one["value"] - one["difference"]
    share = units.signed_percent(one["difference"] / before) if before else ""
    return f"{share} ({_number(before, unit)} → {_number(one['value'], unit)})"


def _number(value: float, unit: str) -> str:
    is_own = unit in ("bytes", "ns", "count")
    return units.number(int(value), unit) if is_own else f"{units.three_digits(value)} {unit}"


def _replayed(one: Row | None) -> str:
    if one is None:
        return "–"
    if one["verdict"] not in ("better", "worse"):
        return "no difference" if one["verdict"] == "same" else "cannot tell"
    return units.signed_percent(one["relative_difference"])


def row_of(name: str, case: Row) -> list[str]:
    """A line of the table."""
    if not case["remedies"]:
        return [name, "–", "–", "–", case["said"], "–"]
    if not case["helps"] and case["by_hand"] is None:
        tried = f"nothing helps, of {units.counted(case['remedies'], 'remedy', 'remedies')}"
        return [name, "–", "–", "–", tried, "–"]
    words = f"`{case['remedy'].replace('(anonymous namespace)::', '')}`"
    cells = [_cell(case[way], case["unit"]) for way in ("tried", "by_hand")]
    return [name, words, BY_KEY[case["figure"]].label, _replayed(case["replayed"]), *cells]


def returned(case: Row) -> float | None:
    """What of the bytes that a replay had predicted a private heap returned; None: it is no such case."""
    said = case.get("replayed")
    if said is None or not case["remedy"].startswith("segregate@") or said["verdict"] != "better":
        return None
    return float(case["tried"]["difference"] / said["difference"])


def render() -> str:
    """The table, and the shares below it."""
    result = documents.read("tried")
    cases = result["cases"]
    both = [(case["tried"], case["by_hand"]) for case in cases.values() if case.get("by_hand")]
    near = sum(is_near(*one) for one in both)
    shares = [found for case in cases.values() if (found := returned(case)) is not None]
    lines = [
        documents.figures_of("tried"),
        "",
        documents.said([result]),
        "",
        *markdown.table(
            ["program", "remedy", "figure", "replay had said", "try measured", "the change in the code"],
            [row_of(name, case) for name, case in cases.items()],
            "llllll",
        ),
        "",
        f"As the change in the code, within its runs or a tenth of its gain: {near} of {len(both)}.",
    ]
    if shares:
        least, most = (units.percent(one) for one in (min(shares), max(shares)))
        lines.append(f"Private heaps gave back {least} to {most} of the bytes that a replay had predicted.")
    return "\n".join(lines)


BLOCKS = [documents.marked("docs/try.md", "results", render)]
