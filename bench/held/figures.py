# SPDX-License-Identifier: MIT
"""The tables of docs/held.md, of bench/results/held.json."""

from collections.abc import Mapping
from typing import Any

import documents
from heapwright.report import markdown, units
from taken import counted, each, fields

_RUNNING = ("stopped_ns", "taken_ns", "file_bytes", "collector_bytes")
TAKEN = {"held": fields({"running": each(lambda one: {**one, "turns": _summed(one["turns"])})})}


def _summed(turns: list[Mapping[str, float]]) -> dict[str, Any]:
    return {name: counted([turn[name] for turn in turns]) for name in _RUNNING}


def _lost(figures: Mapping[str, Any]) -> str:
    if not figures:
        return "–"
    return f"{figures['lost_blocks']:,} ({units.size(figures['lost_bytes'])})"


def _leaked(figures: Mapping[str, Any]) -> str:
    """By chap; those that glibc keeps as free are told apart."""
    if not figures:
        return "not run"
    cached = figures["cached_blocks"]
    return f"{figures['leaked_blocks']:,}" + (f" ({cached:,} of them free)" if cached else "")


def _programs(result: Mapping[str, Any]) -> list[str]:
    has_chap = any(one.get("chap") for one in result["programs"].values())
    rows = []
    for name, one in result["programs"].items():
        snapshot = one["snapshot"]
        witnesses = [_lost(one["memcheck"]), *([_leaked(one.get("chap", {}))] if has_chap else [])]
        if "problem" in snapshot:
            rows.append([name, "–", snapshot["problem"], *witnesses, "–"])
            continue
        whole = f"{snapshot['blocks']:,} ({units.size(snapshot['bytes'])})"
        rows.append([name, whole, _lost(snapshot), *witnesses, units.duration(snapshot["stopped_ns"])])
    witnesses = ["lost, by memcheck", *(["leaked, by chap"] if has_chap else [])]
    heads = ["program", "live blocks", "lost, by the snapshot", *witnesses, "stood still"]
    return markdown.table(heads, rows, "l" + "r" * (len(heads) - 1))


def _running(result: Mapping[str, Any]) -> list[str]:
    rows = []
    for one in result["running"]:
        turns = {name: figure["median"] for name, figure in one["turns"].items()}
        rows.append(
            [
                f"{one['blocks']:,}",
                units.size(one["bytes"]),
                units.duration(turns["stopped_ns"]),
                units.duration(turns["taken_ns"]),
                units.duration(one["answered_ns"]),
                units.size(turns["file_bytes"]),
                units.size(turns["collector_bytes"]),
            ]
        )
    heads = [
        "blocks",
        "bytes",
        "stands still",
        "until it is in the file",
        "who holds it",
        "file",
        "collector",
    ]
    return markdown.table(heads, rows, "rrrrrrr")


def _planted(result: Mapping[str, Any]) -> str:
    """What the witnesses say of a program that tells how many blocks it has lost."""
    one = result["planted"]
    found = {name: one[name]["lost_blocks"] for name in ("snapshot", "memcheck", "sanitizer")}
    return (
        f"The tests' planted graph has {one['planted_blocks']:,} lost blocks: the snapshot finds "
        f"{found['snapshot']:,}, memcheck {found['memcheck']:,}, LeakSanitizer {found['sanitizer']:,} (it "
        "does not look into memory that the program mapped itself)."
    )


def render() -> str:
    """Both tables, and where they are from."""
    result = documents.read("held")
    found = [one for one in result["programs"].values() if one["memcheck"] and "blocks" in one["snapshot"]]
    same = sum(one["snapshot"]["lost_blocks"] == one["memcheck"]["lost_blocks"] for one in found)
    lines = [
        f"Healthy programs with a task each, at their exit. Of {len(found)} that Valgrind ran as well,",
        f"{same} have as many lost blocks by its memcheck (*definitely* and *indirectly lost*). A",
        "snapshot has fewer where some word still looks like a pointer to them, or where libc's variables",
        "hold them: memcheck has libc free these first (groff's environment). chap's counts were taken",
        "later, of a core at the exit: it takes what is free in glibc's thread cache for blocks in use.",
        *([_planted(result)] if "planted" in result else []),
        "",
        *_programs(result),
        "",
        "A running program, whose blocks have two pointers each (medians):",
        "",
        *_running(result),
        "",
        documents.machine_of(result) + ". " + documents.said([result]),
    ]
    return "\n".join(lines)


BLOCKS = [documents.below("docs/held.md", "held", render)]
