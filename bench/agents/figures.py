# SPDX-License-Identifier: MIT
"""docs/agents.md: the decision table of decide.py, and how often it named what was planted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import decide
import documents
from heapwright.report import markdown
from taken import each, fields

Row = Mapping[str, Any]
LAST_RULE = ("none of these", "nothing is worth changing: say so")
DOCUMENT = "docs/agents.md"


def judged(row: Row) -> dict[str, Any]:
    """A program without its causes: of each run only where the planted one is, and what else is said."""
    return {**row, "runs": [judged_run(row, run) for run in row["runs"]]}


def judged_run(row: Row, run: Row) -> dict[str, Any]:
    """place: the planted cause's among those named, in its function; 0: it is not there.

    changes: what it says to change, questions left out.
    """
    numbered = enumerate(run["causes"], 1)
    is_it = (
        (number, cause["is_question"])
        for number, cause in numbered
        if cause["cause"] == row["planted"] and row["function"] in cause["site"]
    )
    place, is_question = next(is_it, (0, False))
    changes = [cause["cause"] for cause in run["causes"] if not cause["is_question"]]
    sizes = {name: run[name] for name in ("brief_bytes", "document_bytes")}
    return {"place": place, "is_question": is_question, "changes": changes, **sizes}


def judged_rule(row: Row) -> dict[str, Any]:
    """The same of a rule's program, whose reports' sizes nobody asks for."""
    runs = [{"place": run["place"], "changes": run["changes"]} for run in judged(row)["runs"]]
    return {"program": row["program"], "mode": row["mode"], "runs": runs}


TAKEN = {"agents": fields({"planted": each(judged), "rules": each(judged_rule)})}


def verdict(row: Row) -> str:
    """How often it was found, in words."""
    runs = row["runs"]
    if not row["planted"]:
        wrong = sorted({name for run in runs for name in run["changes"]})
        named = f"; {', '.join(wrong)} in the others" if wrong else ""
        return f"nothing in {sum(not run['changes'] for run in runs)} of {len(runs)}{named}"
    places = [run["place"] for run in runs]
    first = places.count(1)
    later = sum(place > 1 for place in places)
    at = max(places)
    is_question = any(run["is_question"] for run in runs)
    found = [f"first in {first} of {len(runs)}"] if first or not later else []
    found += [f"{at}. in {later} of {len(runs)}"] if later else []
    return ", ".join(found) + (", as a question" if is_question else "")


def table() -> str:
    """The decision table."""
    rules = [*((row.when, row.then) for row in decide.TABLE), LAST_RULE]
    rows = [[str(number), *rule] for number, rule in enumerate(rules, 1)]
    return "\n".join(markdown.table(["", "if", "then"], rows, "rll")).rstrip()


def _counts(rows: list[Row]) -> str:
    causes = [row for row in rows if row["planted"]]
    first = sum(all(run["place"] == 1 for run in row["runs"]) for row in causes)
    found = sum(all(run["place"] for run in row["runs"]) for row in causes)
    healthy = [row for row in rows if not row["planted"]]
    right = sum(not any(run["changes"] for run in row["runs"]) for row in healthy)
    return (
        f"Of {len(causes)} planted causes {found} were named with their function in each of "
        f"{len(rows[0]['runs'])} recordings, {first} of them first; of "
        f"{len(healthy)} programs without one, {right} never got advice to change anything."
    )


def _of_the_rules(rows: list[Row]) -> str:
    found = {(row["program"], row["mode"]): row["runs"][0]["place"] for row in rows}
    as_is = {name: place for (name, mode), place in found.items() if mode == "as_is"}
    again = [name for (name, mode), place in found.items() if mode == "fixed" and place]
    missed = [name for name, place in as_is.items() if not place]
    others = sum(bool(row["runs"][0]["changes"]) for row in rows if row["mode"] == "fixed")
    return (
        f"Of the {len(as_is)} programs of the advice's own tests, which do little beyond a rule's pattern, "
        f"{len(as_is) - len(missed)} causes were named{f' (not {_list(missed)})' if missed else ''}, "
        f"{list(as_is.values()).count(1)} of them first. With the advice followed "
        f"{f'{_list(again)} are' if again else 'none is'} named again; in {others} something else is."
    )


def _list(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def results() -> str:
    """The evaluation."""
    document = documents.read("agents")
    planted = document["planted"]
    head = ["program", "planted", "in", "the table says", "brief, bytes", "all of `--json`, bytes"]
    rows = [
        [
            row["program"],
            row["planted"] or "nothing",
            f"`{row['function']}`" if row["function"] else "",
            verdict(row),
            *(f"{max(run[size] for run in row['runs']):,}" for size in ("brief_bytes", "document_bytes")),
        ]
        for row in planted
    ]
    lines = [
        documents.figures_of("agents"),
        "",
        documents.said([document]),
        "",
        *markdown.table(head, rows, "llllrr"),
        _counts(planted),
        "",
        _of_the_rules(document["rules"]),
    ]
    return "\n".join(lines)


BLOCKS = [documents.marked(DOCUMENT, "table", table), documents.marked(DOCUMENT, "results", results)]
