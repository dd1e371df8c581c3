# SPDX-License-Identifier: MIT
"""heapwright export: the trace in another tool's format."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from heapwright.cli import options
from heapwright.cli.arguments import check_answered, check_contexts, make_filter, one_of, open_trace
from heapwright.cli.errors import InputError
from heapwright.cli.output import check_output, hint, is_stdout, print_json, write_by_name, write_file
from heapwright.cli.progress import progress
from heapwright.cli.streams import say
from heapwright.cli.trace_copy import write_trace_copy
from heapwright.export import FILTERED_TABLES, FORMATS, Format, Source, write_table
from heapwright.model import Filter, Trace
from heapwright.model.tables import TABLES, about_samples
from heapwright.model.wholeness import forgotten_in_words, in_words
from heapwright.report import units

To = Annotated[str, typer.Option("--to", metavar="FORMAT", help=f"One of {', '.join((*FORMATS, 'trace'))}.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="OUT", help="File to write; - is standard output.")
]
Measure = Annotated[
    str, typer.Option(metavar="NAME", help="bytes, calls, peak, leaked, temporaries or time.")
]
Table = Annotated[
    str, typer.Option(metavar="NAME", help=f"For parquet: {', '.join(TABLES)}. Default: event.")
]

Anonymize = Annotated[
    bool, typer.Option("--anonymize", help="Replace all names by hashes; the key is discarded.")
]

Fleet = Annotated[
    Path | None,
    typer.Option(
        "--fleet", metavar="DIR", help="With parquet: write facts for heapwright fleet to this folder."
    ),
]
Service = Annotated[
    str,
    typer.Option(metavar="NAME", help="With --fleet: name of the service. Default: the program's name."),
]
Version = Annotated[
    str,
    typer.Option("--service-version", metavar="TEXT", help="With --fleet: version. Default: unknown."),
]
Check = Annotated[
    bool,
    typer.Option(
        "--check",
        help="With --fleet: try the main remedies by a replay of up to 10 seconds first. Default: take what "
        "explain's check left beside the recording.",
    ),
]


def export(
    file: options.File,
    to: To,
    output: Output = None,
    measure: Measure = "",
    table: Table = "",
    from_: options.From = None,
    until: options.Until = None,
    thread: options.Threads = None,
    site: options.SitePattern = "",
    library: options.Library = "",
    contexts: options.Contexts = None,
    debug_root: options.DebugRoot = None,
    anonymize: Anonymize = False,
    fleet: Fleet = None,
    service: Service = "",
    service_version: Version = "",
    check: Check = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Write a trace in another tool's format.

    For pprof, OpenTelemetry (otlp), DHAT's viewer, speedscope, Perfetto, flame graphs (folded), Parquet;
    or as a trace with embedded symbol names, to read on another machine.
    """
    filters = from_ is not None or until is not None or thread or site or library or contexts
    if one_of("format", to, (*FORMATS, "trace")) == "trace":
        of_others = {"--measure": measure, "--table": table, "--fleet": fleet, "a filter": filters}
        of_others |= {"--service": service, "--service-version": service_version, "--check": check or None}
        write_trace_copy(file, output, debug_root, anonymize, force, json, of_others)
        return
    form = FORMATS[to]
    _check_measure(to, form, measure)
    if fleet is not None:
        excluded = {"--table": table, "--output": output, "--anonymize": anonymize, "a filter": filters}
        _write_fleet(file, to, fleet, service, service_version, debug_root, force, json, check, excluded)
        return
    if service or service_version or check:
        raise InputError("--service, --service-version and --check need --fleet DIR")
    table, trace = _checked_table(to, form, table), open_trace(file, debug_root)
    check_answered(trace, measure)
    if form.unsampled and trace.metadata.sample_mean_bytes:
        raise InputError(f"--to {to}: not available from samples: {form.unsampled}; use pprof")
    name = "anonymous" if anonymize else file.with_suffix("").name
    target = output or Path(name + (f".{table}" if form.write is None else "") + form.suffix)
    check_output(target, force)
    if target.exists() and target.samefile(file):
        raise InputError(f"{target} is the trace itself; name another file with --output")
    if json and is_stdout(target):
        raise InputError("--json and --output - both write to standard output; name a file with --output")
    chosen = make_filter(trace, from_, until, thread, site=site, library=library, contexts=contexts)
    trace = _with_symbols(trace, anonymize, chosen.contexts)
    if form.write is None:
        if not chosen.is_everything and table not in FILTERED_TABLES:
            raise InputError(f"filters apply to the tables {' and '.join(FILTERED_TABLES)}, not to {table}")
        lost, size = _write_parquet(trace, table, target, force, chosen)
    else:
        lost, size = _write_profile(trace, chosen, form, target, force, measure)
    _tell(form, target, _document(to, target, size, lost, _about(trace, form, table)), json)


def _about(trace: Trace, form: Format, table: str) -> str:
    """A note on samples, for who sums up figures."""
    if form.write is None:
        return about_samples(trace, [table])
    return forgotten_in_words(trace.metadata.forgotten_before_ns)


def _with_symbols(trace: Trace, anonymize: bool, contexts: Sequence[str]) -> Trace:
    with progress("reading symbols") as report:
        trace.symbols(report)
    check_contexts(trace, contexts)
    if not anonymize:
        return trace
    from heapwright.model.anonymous import AnonymousTrace  # rarely needed

    return AnonymousTrace(trace)


def _document(to: str, path: Path, size: int, lost: Sequence[str], sampled: str = "") -> dict[str, Any]:
    document = {"schema": "heapwright.export/1", "format": to, "file": str(path), "bytes": size}
    known = {"incomplete": list(lost), "sampled": sampled}
    return document | {name: value for name, value in known.items() if value}


def _tell(form: Format, target: Path, document: dict[str, Any], as_json: bool) -> None:
    """Prints what was written, and what is wrong with it."""
    if lost := document.get("incomplete"):
        say(in_words(lost))
    if as_json:
        print_json(document)
        return
    if sampled := document.get("sampled"):
        say(sampled)
    size = document["bytes"]
    if is_stdout(target):
        say(f"standard output  {units.size(size)}")
        return
    sys.stdout.write(f"{target}  {units.size(size)}\n")
    hint(form.opened_by.format(target))


def _write_fleet(
    file: Path,
    to: str,
    folder: Path,
    service: str,
    version: str,
    debug_root: Path | None,
    force: bool,
    as_json: bool,
    is_checked: bool,
    excluded: Mapping[str, object],
) -> None:
    if to != "parquet":
        raise InputError(f"--fleet does not apply to {to}; use --to parquet")
    for option, value in excluded.items():
        if value:
            raise InputError(f"{option} cannot be used with --fleet, which takes the whole recording")
    from heapwright.cli.fleet_facts import write_facts  # part of an extra

    trace = open_trace(file, debug_root)
    written, lost = write_facts(trace, folder, service, version, force, is_checked)
    if lost:
        say(in_words(lost))
    if as_json:
        size = sum(path.stat().st_size for path in written.values())
        print_json(_document(to, folder, size, lost))
        return
    for path in written.values():
        sys.stdout.write(f"{path}  {units.size(path.stat().st_size)}\n")
    hint(f"heapwright fleet {folder}")


def _checked_table(name: str, form: Format, table: str) -> str:
    if table and form.write is not None:
        raise InputError(f"--table does not apply to {name}")
    if table:
        one_of("table", table, TABLES)
    return table or "event"


def _check_measure(name: str, form: Format, measure: str) -> None:
    if measure and not form.measures:
        raise InputError(f"--measure does not apply to {name}")
    if measure:
        one_of(f"measure for {name}", measure, form.measures)


# Why calls are missing; the bytes.
_Written = tuple[Sequence[str], int]


def _write_profile(
    trace: Trace, chosen: Filter, form: Format, target: Path, force: bool, measure: str
) -> _Written:
    with progress("reading calls") as report:
        facts = trace.begin_facts(
            chosen,
            timeline_points=form.timeline_points,
            slowest_calls=form.slowest_calls,
            wants_activity=form.wants_activity,
        ).take(report)
    source = Source(trace, facts, chosen.from_ns, chosen.to_ns)
    write = form.write
    assert write is not None
    size = write_file(target, force, lambda out: write(source, out, measure or form.default_measure))
    return trace.lost_calls(facts), size


def _write_parquet(trace: Trace, table: str, target: Path, force: bool, chosen: Filter) -> _Written:
    with progress("reading calls") as report:
        lost = trace.lost_calls(trace.begin_plain_facts().take(report))
    warning = in_words(lost)
    size = write_by_name(target, force, lambda path: write_table(trace, table, path, chosen, warning))
    return lost, size
