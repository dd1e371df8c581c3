# SPDX-License-Identifier: MIT
"""Figures of counters as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from heapwright.live.layout import MAKING, RELEASING
from heapwright.report import units
from heapwright.terminal.columns import Columns
from heapwright.terminal.pairs import Pairs

if TYPE_CHECKING:
    from rich.console import Console

_Record = dict[str, Any]
_SHOWN_ROWS = 20
_SHOWN_SIZES = 6
_LEAST_SHOWN = 0.01  # of resident memory
_VERDICTS = {True: "contended", False: "not contended", None: "not known whether it is contended"}


def show_all(document: _Record, console: Console) -> None:
    """Each process, or each program if there are many processes, and the totals of the busiest one."""
    processes = sorted(document["processes"], key=lambda record: -sum(record["calls"].values()))
    if len(processes) > _SHOWN_ROWS:
        _show_programs(document["programs"], console)
        console.print(f"--json lists each of the {units.counted(len(processes), 'image')}")
        console.print()
        _show_program(document["programs"][0], console)
        return
    if len(processes) > 1:
        _show_processes(processes, console)
        console.print()
    show_process(processes[0], console)


def _show_processes(busiest: Sequence[_Record], console: Console) -> None:
    rows = [
        (
            str(record["process"]),
            units.count(sum(record["calls"].values())),
            units.size(record["requested_bytes"]),
            size(record["live_bytes"]),
            units.number(_sum(record, "time_ns"), "ns"),
            units.count(record["threads_begun"]),
            record["program"] + (" (running)" if record["is_running"] else ""),
        )
        for record in busiest
    ]
    headers = ("process", "calls", "requested", "live at end", "in calls", "threads", "program")
    console.print(Columns(headers, rows, text_columns=(6,)))


def _show_programs(busiest: Sequence[_Record], console: Console) -> None:
    rows = [
        (
            units.count(record["images"]),
            units.count(sum(record["calls"].values())),
            units.size(record["requested_bytes"]),
            units.number(_sum(record, "time_ns"), "ns"),
            record["program"] + (f" ({units.count(record['running'])} running)" if record["running"] else ""),
        )
        for record in busiest[:_SHOWN_ROWS]
    ]
    console.print(Columns(("images", "calls", "requested", "in calls", "program"), rows, text_columns=(4,)))
    if len(busiest) > _SHOWN_ROWS:
        console.print(f"{units.counted(len(busiest) - _SHOWN_ROWS, 'more program')}: --json lists all")


def _show_program(record: _Record, console: Console) -> None:
    """Totals of all images of one program. What lives is no sum: children release what their parents made."""
    console.print(
        Text(f"{record['program']}   {units.counted(record['images'], 'image')} together", style="bold"),
        soft_wrap=True,
    )
    console.print()
    whole = record | {"is_running": False, "generation": 0}
    lines = [(name, Text(text)) for name, text in _lines(whole) if not name.startswith("live")]
    console.print(Pairs(lines, style="bold"))
    if record["contexts"]:
        console.print()
        console.print(context_lines(record["contexts"]))


def show_process(record: _Record, console: Console) -> None:
    """All totals of one."""
    title = f"{record['program']}   process {record['process']}, "
    if record["wall_ns"] is not None:
        title += f"{units.duration(record['wall_ns'])}, "
    title += "still running" if record["is_running"] else "ended"
    console.print(Text(title, style="bold"), soft_wrap=True)
    console.print()
    console.print(Pairs([(name, Text(text)) for name, text in _lines(record)], style="bold"))
    if record["contexts"]:
        console.print()
        console.print(context_lines(record["contexts"]))


def context_lines(contexts: Sequence[_Record]) -> RenderableType:
    """What was called in each context that the program named; net: what it made less what it released."""
    rows = [
        (
            units.size(row["requested_bytes"]),
            "–" if row["net_bytes"] is None else size(row["net_bytes"], "+"),
            units.count(row["made"]),
            units.count(row["calls"]),
            "–" if row["time_ns"] is None else units.duration(row["time_ns"]),
            row["context"] or "(no context)",
        )
        for row in contexts[:_SHOWN_ROWS]
    ]
    shown = Columns(("requested", "net", "blocks", "calls", "in calls", "context"), rows, text_columns=(5,))
    if len(contexts) <= _SHOWN_ROWS:
        return shown
    return Group(
        shown, Text(f"{units.counted(len(contexts) - _SHOWN_ROWS, 'more context')}: --json lists all")
    )


def process_lines(record: _Record, lately: _Record) -> RenderableType:
    """Of one process that runs: what it called since the last look, and all it did."""
    pairs = _process_pairs(record, lately)
    if not lately.get("contexts"):
        return pairs
    title = Text("What it worked for since the last look", style="bold")
    return Group(pairs, Text(), title, context_lines(lately["contexts"]))


def _process_pairs(record: _Record, lately: _Record) -> Pairs:
    calls = {name: count for name, count in lately["calls"].items() if count}
    total = sum(calls.values())
    shares = ", ".join(
        f"{name} {units.count(count)}" for name, count in sorted(calls.items(), key=lambda item: -item[1])
    )
    lines = [("lately", f"{units.counted(total, 'call')}: {shares}" if total else "no calls")]
    if total:
        lines.append(("  sizes", sizes_in_words(lately["sizes"])))
    lines += _lines(record | {"is_running": True, "generation": 0})
    return Pairs([(name, Text(text)) for name, text in lines], style="bold")


def growing_lines(growing: _Record) -> RenderableType:
    """The sites that grow, of a process with samples."""
    until = f"of its samples up to {units.duration(growing['until_ns'])} after its start"
    if not growing["sites"]:
        return Text(f"no site with certain growth, {until}")
    rows = [
        (
            units.rate(site["growth_bytes_per_s"]),
            f"{units.size(site['begin_bytes'])} → {units.size(site['live_bytes'])}",
            site["kind"],
            site["name"],
        )
        for site in growing["sites"]
    ]
    table = Columns(("growth", "live", "kind", "site"), rows, text_columns=(2, 3))
    return Group(Text(f"Growing sites, {until}", style="bold"), table)


def remedy_lines(remedies: Sequence[_Record]) -> RenderableType:
    """What remedies do for call sites."""
    counts = {
        "made": "made",
        "reused": "made again",
        "deferred": "freed later",
        "refused": "refused",
        "left": "left",
    }
    shown = [name for name in counts if name == "made" or any(row[name] for row in remedies)]
    rows = [
        (
            *(units.count(row[name]) for name in shown),
            *(size(row[name]) if row["looked_ns"] else "–" for name in ("live_bytes", "held_bytes")),
            row["remedy"],
        )
        for row in remedies
    ]
    headers = (*(counts[name] for name in shown), "live", "held", "remedy")
    return Group(Text("Remedies", style="bold"), Columns(headers, rows, text_columns=(len(headers) - 1,)))


def _lines(record: _Record) -> Iterator[tuple[str, str]]:
    if record["has_own_malloc"]:
        yield "not counted", "the program has its own malloc: calls to it are not seen"
    yield "made", _by_function(record, MAKING, record["made_blocks"])
    yield "released", _by_function(record, RELEASING, record["released_blocks"])
    if record["failed"]:
        yield "failed", units.counted(record["failed"], "call")
    yield "bytes", _bytes(record)
    yield _live(record)
    if record.get("memory"):
        yield from _memory(record["memory"], record["is_running"])
    yield from _times(record)
    yield "sizes", sizes_in_words(record["sizes"])
    ended = "" if record["is_patched"] else f", {units.count(record['threads_ended'])} ended"
    least = "at least " if record["is_patched"] else ""
    yield "threads", f"{least}{units.count(record['threads_begun'])} made calls{ended}"
    yield "allocator", record["allocator"] or "unknown"
    if record["calls_while_reading"]:
        yield "moment", f"{units.counted(record['calls_while_reading'], 'call')} ran while this was read"


def _live(record: _Record) -> tuple[str, str]:
    """A change where counting began in the middle: nobody knows which releases were of blocks from before."""
    blocks = record["live_blocks"]
    if record["is_attached"]:
        sign = "+" if blocks > 0 else ""
        text = f"{size(record['live_bytes'], '+')} in {sign}{units.counted(blocks, 'block')}"
        return "live, change", f"{text}; blocks from before the attach: unknown"
    since = " since its fork" if record["generation"] else ""
    text = f"{size(record['live_bytes'])} in {units.counted(blocks, 'block')}{since}"
    return "live now" if record["is_running"] else "live at the end", text


def _by_function(record: _Record, names: Sequence[str], blocks: int) -> str:
    calls = record["calls"]
    parts = [f"{name} {units.count(calls[name])}" for name in names if calls[name]]
    return f"{units.counted(blocks, 'block')} ({', '.join(parts)})" if parts else "none"


def _memory(memory: _Record, is_running: bool) -> Iterator[tuple[str, str]]:
    """At the last look."""
    parts = {
        "of files": memory["file_bytes"],
        "shared": memory["shared_bytes"],
        "swapped": memory["swapped_bytes"],
    }
    least = _LEAST_SHOWN * memory["resident_bytes"]
    others = "".join(f", {units.size(count)} {name}" for name, count in parts.items() if count > least)
    peak = max(memory["resident_bytes"], memory["peak_resident_bytes"])
    anonymous = units.size(memory["anonymous_bytes"])
    # The kernel tells its peak as long as a process lives: what it took after the last look is not known.
    until = "at most; at the last look" if is_running else "at most until the last look; then"
    yield "resident", f"{units.size(peak)} {until} {anonymous} anonymous{others}"
    if memory["growth_window_ns"] is None:
        return
    window = units.duration(memory["growth_window_ns"])
    if not memory["growth_bytes_per_s"] and not memory["live_growth_bytes_per_s"]:
        yield "  growth", f"none, over {window}"
        return
    live = memory["live_growth_bytes_per_s"]
    beside = "" if live is None else f", live bytes by {units.rate(live)}"
    yield "  growth", f"anonymous memory by {units.rate(memory['growth_bytes_per_s'])}{beside}, over {window}"
    if memory["outside_bytes_per_s"]:
        yield "", f"outside malloc by {units.rate(memory['outside_bytes_per_s'])}: {memory['outside_hint']}"


def _bytes(record: _Record) -> str:
    text = f"{units.size(record['requested_bytes'])} requested"
    usable = record["usable_bytes"]
    if usable is None:
        return text + "; the allocator does not report usable sizes"
    slack = usable - record["requested_bytes"]
    return f"{text}, {units.size(usable)} usable ({units.percent(max(0, slack), usable)} slack)"


def _times(record: _Record) -> Iterator[tuple[str, str]]:
    time_ns = _sum(record, "time_ns")
    if time_ns is None:
        yield "time in calls", f"unknown: too few calls were timed (one in {record['timed_one_in']})"
    else:
        error_ns = sum(record[part]["time_error_ns"] or 0 for part in ("making", "releasing"))
        timed = units.counted(round(_sum(record, "timed_calls") or 0), "timed call")
        yield (
            "time in calls",
            f"{units.duration(time_ns)} ± {units.duration(error_ns)}, from {timed}, "
            f"one in {record['timed_one_in']}; CPU time",
        )
        yield from _off_cpu(record["contention"])
    for part in ("making", "releasing"):
        if record[part]["mean_ns"] is not None:
            yield f"  {part}", _timing(record[part], record["slow_from_ns"])


def _off_cpu(waits: _Record) -> Iterator[tuple[str, str]]:
    """What calls lost to locks, and beside that."""
    if waits["collisions"] is None:
        return
    between = f"{units.count(waits['collisions_low'])} to {units.count(waits['collisions_high'])}"
    if waits["collisions"] == waits["collisions_high"]:
        seen = (
            f"{units.counted(waits['collisions'], 'collision')}, {units.duration(waits['lost_ns'])} lost, "
            "as the heap counts them"
        )
    elif waits["collisions"]:
        lost = f"{units.duration(waits['lost_low_ns'])} to {units.duration(waits['lost_high_ns'])}"
        seen = (
            f"about {units.counted(waits['collisions'], 'collision')} ({between}), "
            f"{units.duration(waits['lost_ns'])} lost ({lost})"
        )
    else:
        seen = f"none seen, at most {units.counted(waits['collisions_high'], 'collision')}"
    yield "  lock waits", f"{_VERDICTS[waits['is_contended']]}: {seen}"
    others = {"while other work had the CPU": waits["preempted_ns"], "otherwise": waits["other_ns"]}
    if any(others.values()):
        parts = [f"{units.duration(time_ns)} {name}" for name, time_ns in others.items() if time_ns]
        yield "  off CPU", "about " + ", ".join(parts)


def _timing(timing: _Record, slow_from_ns: int) -> str:
    parts = [f"mean {units.duration(timing['mean_ns'])}"]
    for name, label in (("p50_ns", "p50"), ("p99_ns", "p99"), ("p999_ns", "p99.9")):
        if timing[name] is not None:
            parts.append(f"{label} ≤ {units.duration(timing[name])}")
    if timing["slow_calls"]:
        slow = units.counted(timing["slow_calls"], "call")
        parts.append(
            f"{slow} of {units.duration(slow_from_ns)} or longer, {units.duration(timing['slow_ns'])}"
        )
    return ", ".join(parts)


def sizes_in_words(rows: Sequence[_Record]) -> str:
    """The octaves with the most requests."""
    total = sum(row["requests"] for row in rows)
    if not total:
        return "none"
    most = sorted(rows, key=lambda row: -row["requests"])[:_SHOWN_SIZES]
    parts = [
        f"{_range(row)} {units.percent(row['requests'], total)}"
        for row in sorted(most, key=lambda row: row["from_bytes"])
    ]
    return ", ".join(parts)


def _range(row: _Record) -> str:
    if row["from_bytes"] < 1024:
        return f"{row['from_bytes']}–{row['to_bytes']} B"
    return f"{units.size(row['from_bytes'])}–{units.size(row['to_bytes'] + 1)}"


def size(count: int | None, plus: str = "") -> str:
    """A level, which may be below 0; plus: the sign of one above."""
    if count is None:
        return "unknown"
    return ("-" if count < 0 else plus if count > 0 else "") + units.size(abs(count))


def _sum(record: _Record, name: str) -> float | None:
    values = [record[part][name] for part in ("making", "releasing") if record[part]["calls"]]
    return None if not values or any(value is None for value in values) else sum(values)
