# SPDX-License-Identifier: MIT
"""heapwright info: describes a trace file without reading its calls."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from heapwright.cli import options
from heapwright.cli.arguments import open_trace
from heapwright.cli.info_schema import SCHEMA
from heapwright.cli.output import hint, make_console, print_json
from heapwright.explain import coverage, first_screen, summary
from heapwright.model import Trace
from heapwright.model.inner_allocator import allocators_of
from heapwright.model.wholeness import forgotten_in_words
from heapwright.report import units
from heapwright.terminal.columns import Columns
from heapwright.terminal.pairs import Pairs

_SHOWN_THREADS = 20


def info(file: options.File, json: options.Json = False, wide: options.Wide = False) -> None:
    """Show what a trace file holds: program, threads, modules."""
    trace = open_trace(file)
    document = describe(trace)
    if json:
        print_json(document)
        return
    show(document, make_console(wide))
    hint(f"heapwright explain {file}")


def describe(trace: Trace) -> dict[str, Any]:
    """Everything except the calls, as plain data."""
    return {
        "schema": SCHEMA,
        "file": trace.path,
        "file_bytes": trace.file_bytes,
        "events": trace.event_count,
        "event_chunks": trace.chunk_count,
        "stacks": max(0, len(trace.stack_columns["parent"]) - 1),
        "frames": len(trace.frame_columns["pc"]),
        "cut_stacks": trace.cut_stacks().lines(),
        "metadata": trace.metadata._asdict(),
        "allocators": list(allocators_of(trace.metadata)),
        "conditions": [
            {"name": name, "value": value} for name, value in trace.metadata.condition_values.items()
        ],
        "processes": summary.processes_of(trace.metadata),
        "is_attached": trace.metadata.is_attached,
        "end": trace.end._asdict(),
        "covers_whole_run": trace.coverage.is_whole_run,
        "coverage": [span._asdict() for span in trace.coverage.spans],
        "damage": [damage._asdict() for damage in trace.damage],
        "modules": [module._asdict() for module in trace.modules],
        "threads": [thread._asdict() for thread in trace.threads],
    }


def show(document: dict[str, Any], console: Console) -> None:
    """The same as text."""
    metadata, end = document["metadata"], document["end"]
    started = datetime.fromtimestamp(metadata["start_unix_ns"] / 1e9, UTC)
    recorded = [
        "every call"
        if not metadata["sample_mean_bytes"]
        else f"one block per {metadata['sample_mean_bytes']} bytes",
        "durations" if metadata["durations_recorded"] else "no durations",
        "stacks of frees" if metadata["free_stacks_recorded"] else "no stacks of frees",
    ]
    lines = [
        ("program", metadata["program"]),
        ("command", metadata["command"]),
        ("process", f"{metadata['process_id']} of {metadata['parent_process_id']} on {metadata['host']}"),
        ("started", started.strftime("%Y-%m-%d %H:%M:%S UTC")),
        ("ended", f"{end['reason']} {end['status']} after {units.duration(end['time_ns'])}"),
        ("covers", _covered(document)),
        ("allocator", " and ".join(document["allocators"])),
        ("recorded", f"{', '.join(recorded)}, by recorder {metadata['recorder_version']}"),
        ("file", f"{units.size(document['file_bytes'])}, {units.counted(document['events'], 'call')} in "
                 f"{units.counted(document['event_chunks'], 'chunk')}, "
                 f"{units.counted(document['stacks'], 'stack')}"),
        ("dropped", units.count(end["dropped"])),
    ]  # fmt: skip
    if conditions := first_screen.conditions_in_words(document["conditions"]):
        lines.append(("ran with", ", ".join(conditions)))
    if forgotten := forgotten_in_words(metadata["forgotten_before_ns"]):
        lines.append(("forgotten", f"{units.counted(metadata['forgotten_events'], 'call')}: {forgotten}"))
    lines += [("stacks", line) for line in document["cut_stacks"]]
    lines += [("not seen", line) for line in metadata["unseen"]]
    lines += [("note", note) for note in metadata["notes"]]
    lines += [("processes", line) for line in first_screen.about_processes(document["processes"])]
    lines += [
        ("damage", f"at byte {damage['file_offset']}: {damage['what']}") for damage in document["damage"]
    ]
    console.print(Pairs([(name, Text(text)) for name, text in lines], style="bold"))
    _show_threads(document["threads"], console)
    _show_modules(document["modules"], console)


def _covered(document: dict[str, Any]) -> str:
    if document["covers_whole_run"]:
        return "the whole run"
    spans = document["coverage"]
    if not spans:
        is_cut = document["end"]["reason"] == "missing"
        return "nothing: the recorder was lost before it recorded" if is_cut else "nothing: recording was off"
    part = "part of the run, attached later" if document["is_attached"] else "part of the run"
    return f"{part}: {coverage.spans_in_words(spans)}"


def _show_threads(threads: list[dict[str, Any]], console: Console) -> None:
    busiest = sorted(threads, key=lambda thread: -int(thread["events"]))[:_SHOWN_THREADS]
    rows = [
        (
            f"{thread['name']} #{thread['index']}",
            str(thread["thread_id"]),
            units.count(thread["events"]),
            units.count(thread["dropped"]),
            units.duration(thread["first_ns"]),
            units.duration(thread["exit_ns"]) if thread["exit_ns"] else "at the end",
        )
        for thread in busiest
    ]
    console.print()
    console.print(
        Columns(("thread", "id", "calls", "dropped", "first call", "exit"), rows, text_columns=(0,))
    )
    if len(threads) > len(busiest):
        console.print(f"{units.counted(len(threads) - len(busiest), 'more thread')}: --json lists all")


def _show_modules(modules: list[dict[str, Any]], console: Console) -> None:
    rows = [
        (
            hex(module["start"]),
            units.size(module["end"] - module["start"]),
            module["build_id"][:16] or "none",
            units.duration(module["loaded_ns"]),
            units.duration(module["unloaded_ns"]) if module["unloaded_ns"] else "",
            module["path"],
        )
        for module in modules
    ]
    console.print()
    headers = ("start", "size", "build id", "loaded", "unloaded", "path")
    console.print(Columns(headers, rows, text_columns=(5,), left_columns=(2,)))
