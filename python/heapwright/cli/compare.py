# SPDX-License-Identifier: MIT
"""heapwright compare: differences between two (sets of) recordings, and their significance."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from heapwright.cli import (
    caveats,
    compared_moments,
    compared_replays,
    options,
    output,
    repeated_runs,
    runs_progress,
)
from heapwright.cli.arguments import open_trace
from heapwright.cli.errors import InputError
from heapwright.cli.progress import progress
from heapwright.cli.replayed_advice import advised
from heapwright.cli.result_forms import Forms
from heapwright.compare import document as documents
from heapwright.compare import load, page, show
from heapwright.compare.recorded import calls_at
from heapwright.model import Facts, Trace
from heapwright.model.selectors import selected, why_none

_RUNS = 5
Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="A B",
        help="Two recordings, two dumps of one process, two folders of repeated recordings, or two files of "
        "replay --json.",
        show_default=False,
    ),
]
SideFiles = Annotated[
    list[Path] | None, typer.Option(metavar="FILE", help="A recording, or a folder of them. Repeatable.")
]
Run = Annotated[
    list[str] | None,
    typer.Option(
        "--run",
        metavar="COMMAND",
        help="Give it twice: A's and B's command, recorded alternately. Split as a shell does.",
    ),
]
Runs = Annotated[
    int | None,
    typer.Option(metavar="N", help=f"With --run: runs of each command.  [default: {_RUNS}]"),
]
Keep = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="With --run: keep the recordings in this folder.")
]
PerWhat = Annotated[
    str,
    typer.Option(
        "--per",
        metavar="N|N,N|site:SITE",
        help="Divide work by a load (A's and B's), or by a site's allocations.",
    ),
]
PerSecond = Annotated[
    bool, typer.Option("--per-second", help="Divide calls, bytes and time by the duration.")
]
Top = Annotated[int, typer.Option(metavar="N", help="Number of call sites to show.")]
Root = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder with that side's programs, libraries and debug files."),
]
Anyway = Annotated[
    bool, typer.Option("--anyway", help="Compare incomplete recordings, and note what that means.")
]

Advice = Annotated[
    bool, typer.Option("--advice", help="Show what explain's advice on A estimated, and what B gained.")
]
Replayed = Annotated[
    Path | None,
    typer.Option(metavar="FILE.json", help="With --advice: output of replay --advice --json for A."),
]


def compare(
    files: Files = None,
    a: SideFiles = None,
    b: SideFiles = None,
    run: Run = None,
    runs: Runs = None,
    keep: Keep = None,
    limit: options.Limit = 600.0,
    per: PerWhat = "",
    per_second: PerSecond = False,
    top: Top = 10,
    a_root: Root = None,
    b_root: Root = None,
    anyway: Anyway = False,
    advice: Advice = False,
    replayed: Replayed = None,
    json: options.Json = False,
    md: options.Markdown = False,
    html: options.Page = None,
    force: options.Force = False,
    wide: options.Wide = False,
) -> None:
    """Show what differs between two recordings or replays, and where."""
    _check(runs, limit, top, per, per_second, keep, run or [])
    if replayed is not None and not advice:
        raise InputError("--replayed needs --advice")
    named = [] if run else _sides(files or [], a or [], b or [])
    if html is not None:
        output.check_is_no_input(html, [file for side in named for file in side])
    forms = Forms(json, md, wide, html, force)
    forms.check()
    if compared_replays.are_meant([file for side in named for file in side]):
        unfit = {"--per": per, "--per-second": per_second, "--a-root": a_root, "--b-root": b_root}
        unfit |= {"--anyway": anyway, "--advice": advice}
        compared_replays.compare(named, unfit, forms)
        return
    with ExitStack() as stack:
        if run:
            _check_alone(files or [], a, b)
            folder = repeated_runs.folder_for(keep, stack)
            with runs_progress.progress() as report:
                found = repeated_runs.record_in_turns(run, runs or _RUNS, folder, limit, anyway, report)
        else:
            found = named
        sides = _recordings(found, (a_root, b_root), run or ["", ""])
        unfit = {"--per": per, "--per-second": per_second, "--advice": advice, "--html": html}
        if compared_moments.compare([side.traces for side in sides], unfit, top, forms):
            return
        notes = _notes(sides, anyway)
        said = advised(sides[0].traces[0], replayed) if advice else ()
        with progress("reading calls") as step:
            compared = load.compare(sides, _per(per, per_second, sides), notes, step, html is not None, said)
            made = documents.make(compared)
    forms.show(
        made,
        lambda console: show.on_console(made, top, console),
        lambda: show.as_markdown(made, top),
        lambda: page.render(made, top, compared),
    )
    _say_next(made, bool(run) and keep is None)


def _check(
    runs: int | None,
    limit: float,
    top: int,
    per: str,
    per_second: bool,
    keep: Path | None,
    run: Sequence[str],
) -> None:
    repeated_runs.check(_RUNS if runs is None else runs, limit)
    if top < 1:
        raise InputError("--top takes a number of at least 1")
    if per and per_second:
        raise InputError("--per and --per-second are mutually exclusive")
    if run and len(run) != 2:
        raise InputError("--run takes two commands, A's and B's: --run './old' --run './new'")
    if keep is not None and not run:
        raise InputError("--keep needs --run, which makes recordings")
    if runs is not None and not run:
        raise InputError("--runs needs --run, which makes recordings")


def _check_alone(files: Sequence[Path], a: Sequence[Path] | None, b: Sequence[Path] | None) -> None:
    if files or a or b:
        raise InputError("--run makes the recordings; omit files, --a and --b")


def _sides(files: Sequence[Path], a: Sequence[Path], b: Sequence[Path]) -> list[list[Path]]:
    if files and (a or b):
        raise InputError("repeat --a and --b for each file: --a one --a two --b three")
    if files:
        if len(files) != 2:
            raise InputError("compare takes two recordings, A and B; use --a and --b for several per side")
        a, b = files[:1], files[1:]
    if not a or not b:
        raise InputError("compare takes two recordings: heapwright compare A.heapwright B.heapwright")
    return [[file for path in side for file in _files_in(path)] for side in (a, b)]


def _files_in(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.heapwright"))
    if not found:
        raise InputError(f"no recording (*.heapwright) in the folder {path}")
    return found


def _recordings(
    found: Sequence[Sequence[Path]], roots: Sequence[Path | None], commands: Sequence[str]
) -> tuple[load.Recordings, load.Recordings]:
    sides = []
    for label, files, root, command in zip("AB", found, roots, commands, strict=True):
        traces = [open_trace(file, root, f"--{label.lower()}-root") for file in files]
        programs = {trace.metadata.program for trace in traces}
        if len(programs) > 1:
            raise InputError(f"{label}'s recordings are of several programs: {', '.join(sorted(programs))}")
        _check_independent(label, traces)
        sides.append(load.Recordings(traces, command))
    return sides[0], sides[1]


def _check_independent(label: str, traces: Sequence[Trace]) -> None:
    """Refuses copies of a recording, which would count as further runs."""
    first: dict[tuple[str, int, int], Trace] = {}
    for trace in traces:
        process = _process_of(trace)
        same = trace if process is None else first.setdefault(process, trace)
        if same is not trace:
            raise InputError(
                f"{label}'s {same.path} and {trace.path} are of the same process; give each run once"
            )


def _process_of(trace: Trace) -> tuple[str, int, int] | None:
    known = trace.metadata
    return (known.host, known.process_id, known.start_unix_ns) if known.start_unix_ns else None


def _notes(sides: Sequence[load.Recordings], anyway: bool) -> list[str]:
    found = []
    for command, trace in ((side.command, trace) for side in sides for trace in side.traces):
        reasons = caveats.reasons_taken(
            trace, anyway, "cannot be compared", "compares what there is", command
        )
        found += caveats.notes_on(trace, reasons, "which may explain differences")
    of_a, of_b = ({_process_of(trace) for trace in side.traces} - {None} for side in sides)
    if of_a & of_b:
        found.append("A and B share a recording, which cannot differ from itself")
    return found


def _per(text: str, per_second: bool, sides: Sequence[load.Recordings]) -> load.Per:
    if per_second:
        return load.Per("second", (_seconds, _seconds), is_timed=True)
    if text.startswith("site:"):
        return _per_site(text.removeprefix("site:"), sides)
    loads = _numbers(text) if text else [1.0, 1.0]
    words = "" if not text else f"unit of load ({text})"
    return load.Per(words, (lambda _trace, _facts: loads[0], lambda _trace, _facts: loads[-1]))


def _numbers(text: str) -> list[float]:
    try:
        loads = [float(part) for part in text.split(",")]
    except ValueError:
        loads = []
    if len(loads) not in (1, 2) or not all(0 < number < float("inf") for number in loads):
        raise InputError(f"--per takes a load above 0, A's and B's (1000,2000), or site:SITE, not '{text}'")
    return loads


def _per_site(selector: str, sides: Sequence[load.Recordings]) -> load.Per:
    for trace in (trace for side in sides for trace in side.traces):
        if not selected(trace.sites().sites, selector):
            raise InputError(f"--per: {why_none(trace.sites().sites, selector)} ({Path(trace.path).name})")
    calls = calls_at(selector)

    def per(trace: Trace, facts: Facts) -> float:
        found = calls(trace, facts)
        if not found:
            raise InputError(f"--per site:{selector}: it allocates nothing in {Path(trace.path).name}")
        return found

    return load.Per(f"allocation at {selector}", (per, per))


def _seconds(trace: Trace, _facts: Facts) -> float:
    return max(trace.end.time_ns, 1) / 1e9


def _say_next(document: dict[str, Any], is_gone: bool) -> None:
    if is_gone:
        commands = " ".join(f"--run {shlex.quote(document[side]['command'])}" for side in "ab")
        output.hint(f"heapwright compare {commands} --keep FOLDER   (keeps the recordings)")
    else:
        output.hint(show.next_command(document))
