# SPDX-License-Identifier: MIT
"""heapwright explain: what the heap cost, first on one screen, then by question."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from heapwright import explain as explaining
from heapwright.cli import options
from heapwright.cli.arguments import make_filter, make_site_options, open_trace, questions_by
from heapwright.cli.browsing import browse as browse_trees
from heapwright.cli.browsing import check_browse
from heapwright.cli.errors import InputError
from heapwright.cli.explanation import (
    ReportOptions,
    explain_trace,
    make_report_options,
    make_tree,
    read_suppressions,
)
from heapwright.cli.explanation_page import check_page, write_page
from heapwright.cli.processes import explain_processes, find_process, open_processes
from heapwright.cli.replayed_advice import read_replayed
from heapwright.explain.tree import ENDS, MEASURES
from heapwright.model.session import is_session

Top = Annotated[
    int | None,
    typer.Option(metavar="N", help="Rows in each table: 10, or as many as fit on the one screen."),
]
All = Annotated[
    bool,
    typer.Option(
        "--all", help="The whole report: every question, all rows and callers. Default: one screen."
    ),
]
Questions = Annotated[
    list[str] | None,
    typer.Option(
        "--question", metavar="NAME", help=f"Only this question: {', '.join(explaining.NAMES)}. Repeatable."
    ),
]
Suppressions = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Blocks that are not leaks: leak:PATTERN lines, as in LeakSanitizer."),
]
MemoryLimit = Annotated[
    int | None,
    typer.Option(
        metavar="SIZE",
        click_type=options.SIZE,
        help="The process's memory limit (2g): predicts when growth reaches it.",
    ),
]
At = Annotated[
    int | None,
    typer.Option(
        metavar="TIME",
        click_type=options.MOMENT,
        help="Also show resident memory at this time (2.5s; -30s: before the end).",
    ),
]
Replayed = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.json",
        help="Output of replay --advice --json: adds what each piece of advice gained.",
    ),
]
TreeFrom = Annotated[
    str, typer.Option("--tree", metavar="END", help=f"Show one call tree, from: {', '.join(ENDS)}.")
]
Measure = Annotated[str, typer.Option(metavar="NAME", help=f"What the tree sums: {', '.join(MEASURES)}.")]
MinShare = Annotated[str, typer.Option(metavar="PERCENT", help="Leave out smaller branches of the tree.")]


_FILTERS = ("from_", "until", "thread", "min_block", "max_block", "site", "library", "through", "contexts")

Browse = Annotated[
    bool, typer.Option("--browse", help="Open the call trees on the terminal, with keys; ? lists them.")
]
OverTime = Annotated[
    bool,
    typer.Option("--over-time", help="With --json: add call paths, threads and latencies over time."),
]
Brief = Annotated[
    bool,
    typer.Option("--brief", help="With --json: the most important findings, in at most 8 KB."),
]
Check = Annotated[
    bool | None,
    typer.Option(
        "--check/--unchecked",
        help="Try the main remedies by a replay of up to 10 seconds, and withdraw those that it refutes. "
        "Done by default for text on the recording machine, for --json only with --check.",
    ),
]
Process = Annotated[
    str,
    typer.Option(
        "--process",
        metavar="PID|NAME",
        help="In a folder or session: explain this process, by id or program.",
    ),
]


def _print_known_allocators(wanted: bool) -> None:
    if wanted:
        from heapwright.model import nested  # rarely wanted

        for entry in nested.TABLE:
            what = "mappings" if entry.maps else "blocks"
            said = f"{what} are shared by later callers" if entry.is_shared else "each object is a block"
            switch = f"; {entry.switch} makes each object a block" if entry.switch else ""
            sys.stdout.write(f"{entry.name}: {said}{switch}\n    {entry.functions}\n")
        raise typer.Exit


KnownAllocators = Annotated[
    bool,
    typer.Option(
        "--known-allocators",
        callback=_print_known_allocators,
        is_eager=True,
        help="List the allocators inside programs whose callers are the call sites.",
    ),
]


def explain(
    file: options.FileOrFolder,
    process: Process = "",
    top: Top = None,
    question: Questions = None,
    all_: All = False,
    from_: options.From = None,
    until: options.Until = None,
    thread: options.Threads = None,
    min_block: options.MinBlock = None,
    max_block: options.MaxBlock = None,
    site: options.SitePattern = "",
    library: options.Library = "",
    through: options.Through = "",
    contexts: options.Contexts = None,
    suppressions: Suppressions = None,
    memory_limit: MemoryLimit = None,
    at: At = None,
    replayed: Replayed = None,
    check: Check = None,
    browse: Browse = False,
    tree: TreeFrom = "",
    measure: Measure = "peak",
    min_share: MinShare = "1%",
    site_depth: options.SiteDepth = 1,
    full_stacks: options.FullStacks = False,
    skip: options.Skip = None,
    by: options.By = "site",
    known_allocators: KnownAllocators = False,
    debug_root: options.DebugRoot = None,
    html: options.Page = None,
    force: options.Force = False,
    over_time: OverTime = False,
    brief: Brief = False,
    json: options.Json = False,
    wide: options.Wide = False,
) -> None:
    """Explain what the recorded program's heap cost, and where."""
    given = dict(locals())
    del given["file"]
    explain_file(file, wanted_of(given), given)


def wanted_of(given: Mapping[str, Any]) -> ReportOptions:
    """Checks the options of explain that need no trace; given: all of them, by their names above."""
    top, questions, json, tree = given["top"], given["question"] or [], given["json"], given["tree"]
    _check_json(json, given["over_time"], given["brief"], tree)
    check_page(given["html"], given["force"], json)
    check_browse(given)
    questions = questions_by(given["by"], given, questions)
    known = read_suppressions(given["suppressions"])
    shown = make_tree(tree, given["measure"], given["min_share"])
    limit, at, wide = given["memory_limit"], given["at"], given["wide"]
    wanted = make_report_options(top, questions, json, wide, shown, known, limit, at, given["all_"])
    is_checked = False if given["by"] != "site" else given["check"]
    return wanted._replace(over_time=given["over_time"], brief=given["brief"], is_checked=is_checked)


def explain_file(file: Path, wanted: ReportOptions, given: Mapping[str, Any]) -> None:
    """Explains a trace, a folder or a session file. given: the options of explain."""
    process, html, debug_root = given["process"], given["html"], given["debug_root"]
    if is_session(file):
        session = open_processes(file, debug_root)
        if not process:
            if html is not None or wanted.brief or given["browse"]:
                raise InputError("--html, --browse and --brief cover one process: name it with --process")
            explain_processes(session, wanted)
            return
        trace = find_process(session, process)
    elif process:
        raise InputError("--process is for a folder or session file; this is the trace of one process")
    else:
        trace = open_trace(file, debug_root)
    wanted = wanted._replace(replayed=read_replayed(given["replayed"], trace))
    chosen = make_filter(trace, **{name: given[name] for name in _FILTERS})
    sites = make_site_options(given["site_depth"], given["full_stacks"], given["skip"], given["by"])
    if given["browse"]:
        browse_trees(trace, chosen, sites, wanted)
        return
    if html is not None:
        write_page(trace, chosen, sites, wanted, html, given["force"])
        return
    explain_trace(trace, chosen, sites, wanted)


def _check_json(json: bool, over_time: bool, brief: bool, tree: str) -> None:
    if over_time and not json:
        raise InputError("--over-time needs --json; --html draws these over time")
    if brief and (not json or over_time or tree):
        raise InputError("--brief needs --json, and excludes --over-time and --tree")
