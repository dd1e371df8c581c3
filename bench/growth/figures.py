# SPDX-License-Identifier: MIT
"""The table in docs/decisions/0012-growth.md, of bench/results/growth.json."""

from __future__ import annotations

import documents
from heapwright.report import markdown
from taken import as_is

TAKEN = {"growth": as_is}
WARM_UP = "warm-up"


def of(part: int, whole: int, digits: int = 1) -> str:
    return f"{100 * part / whole:.{digits}f} %"


def render() -> str:
    result = documents.read("growth")
    each, steady, sampled = result["loads_of_a_kind"], result["stationary_loads"], result["sampled_loads"]
    alarms, of_samples = result["false_alarms"], result["false_alarms_sampled"]
    programs, wrong = result["programs"], result["programs_with_a_false_alarm"]
    kinds = result["kinds"]["stationary"]
    warm = {name: kinds[name].get(WARM_UP, 0) for name in kinds}
    total = sum(warm.values())
    worst = sorted(warm, key=lambda name: -warm[name])[:3]
    names = ", ".join(
        f"{name.replace('_', ' ')} {warm[name]} of {each} ({of(warm[name], each)})" for name in worst
    )
    rows = [
        (
            "loads that do not grow, of nine kinds",
            f"{steady:,}",
            f"{alarms} called growing ({of(alarms, steady, 2)})",
        ),
        (
            "the same of four kinds, sampled (2,000 samples)",
            f"{sampled:,}",
            f"{of_samples} called growing ({of(of_samples, sampled, 2)})",
        ),
        (
            "programs of ten such sites",
            f"{programs:,}",
            f"{wrong} with one of ten called growing ({of(wrong, programs)})",
        ),
        *(
            (name, f"{each:,}", f"{found} found ({of(found, each)})")
            for name, found in result["found"].items()
        ),
    ]
    lines = [
        *markdown.table(["made-up loads", "number", "what was said"], rows, "lrl"),
        "What is missed is mostly reported as *unknown* (a leak from half way), or *steady* (waves too short "
        "for their bins).",
        "",
        f"Growing is a leak or creep. Of the loads that do not grow, {total:,} ({of(total, steady)}) are",
        f"called *{WARM_UP}*: {names}.",
        "They begin empty and fill within a tenth of the run, which is what the word says. A program of ten",
        f"sites has a false alarm more often than a site has: {of(wrong, programs)}; the aim is 1 %.",
        "",
        "A leak of one rate whose blocks come at random times: how often the slope's 95 % interval holds",
        "that rate, and how often a time is said since when it grows so, though it always did.",
        "",
        *markdown.table(
            ["blocks", "leaks", "interval holds", "begin said"],
            [
                [f"{int(blocks):,}", str(each), of(one["held"], each), of(one["begin_said"], each)]
                for blocks, one in result["slopes"].items()
            ],
            "rrrr",
        ),
        documents.said([result]),
    ]
    return "\n".join(lines)


BLOCKS = [documents.below("docs/decisions/0012-growth.md", "growth", render)]
