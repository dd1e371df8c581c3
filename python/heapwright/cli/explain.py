# SPDX-License-Identifier: MIT
"""heapwright explain: what the heap cost, on one screen and then by question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from heapwright import explain as explaining
from heapwright.cli import options
from heapwright.cli.arguments import make_filter, make_site_options, one_of, open_trace
from heapwright.cli.errors import InputError
from heapwright.cli.output import hint, make_console, print_json
from heapwright.cli.progress import progress
from heapwright.model import Filter, SiteOptions, Trace

Top = Annotated[int, typer.Option(metavar="N", help="How many lines each table has.")]
Questions = Annotated[
    list[str] | None,
    typer.Option("--question", metavar="NAME", help=f"Only this: {', '.join(explaining.NAMES)}. Repeatable."),
]


@dataclass(frozen=True)
class Wishes:
    """How the user wants it explained."""

    top: int = 10
    questions: tuple[str, ...] = ()
    as_json: bool = False


def explain(
    file: options.File,
    top: Top = 10,
    question: Questions = None,
    from_: options.From = "",
    to: options.To = "",
    thread: options.Threads = None,
    min_size: options.MinSize = "",
    max_size: options.MaxSize = "",
    site: options.SitePattern = "",
    library: options.Library = "",
    site_depth: options.SiteDepth = 1,
    full_stacks: options.FullStacks = False,
    skip: options.Skip = None,
    debug_root: options.DebugRoot = None,
    json: options.Json = False,
) -> None:
    """Say what the recorded program's heap cost, and where."""
    wishes = make_wishes(top, question or [], json)
    trace = open_trace(file, debug_root)
    chosen = make_filter(trace, from_, to, thread or [], min_size, max_size, site, library)
    explain_trace(trace, chosen, make_site_options(site_depth, full_stacks, skip or []), wishes)
    if not json:
        hint(f"heapwright sql {file} 'select * from site order by live_at_peak_bytes desc limit 5'")


def make_wishes(top: int, questions: Sequence[str], as_json: bool) -> Wishes:
    """Checked wishes."""
    if top < 1:
        raise InputError("--top takes a number from 1 on")
    names = tuple(one_of("question", name, explaining.NAMES) for name in questions)
    return Wishes(top, names or explaining.NAMES, as_json)


def explain_trace(trace: Trace, chosen: Filter, sites: SiteOptions, wishes: Wishes) -> None:
    """Reads the trace and prints the explanation."""
    document = explaining.explain(read_report(trace, chosen, sites, wishes.top), wishes.questions)
    if wishes.as_json:
        print_json(document)
        return
    explaining.render(document, make_console())


def read_report(trace: Trace, chosen: Filter, sites: SiteOptions, top: int) -> explaining.Report:
    """The facts, with progress shown while they are read."""
    with progress("reading symbols") as report:
        trace.symbols(report)
    grouped = trace.sites(sites)
    _check_site_filter(trace, chosen, sites)
    with progress("reading calls") as report:
        facts = trace.facts(chosen, sites, progress=report)
    return explaining.Report(trace, facts, grouped, chosen, top)


def _check_site_filter(trace: Trace, chosen: Filter, sites: SiteOptions) -> None:
    if not chosen.site and not chosen.library:
        return
    if not any(trace.sites_chosen(chosen, sites)):
        option = f"--site {chosen.site}" if chosen.site else f"--library {chosen.library}"
        raise InputError(
            f"{option} matches none of the {len(trace.sites(sites))} call sites of {Path(trace.path).name}"
        )
