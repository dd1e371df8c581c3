# SPDX-License-Identifier: MIT
"""heapwright lint: the lines that allocate most, what allocates there, and how to avoid it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from heapwright.cli import options, output
from heapwright.cli.arguments import open_trace
from heapwright.cli.errors import InputError
from heapwright.cli.progress import progress
from heapwright.lint import clang, keep, recorded, show, static, unseen
from heapwright.lint import compile as compiling
from heapwright.lint import document as documents
from heapwright.lint import fix as fixing
from heapwright.lint import parsed as parsed_lines
from heapwright.lint import tidy as tidy_checks
from heapwright.lint.finding import Finding
from heapwright.lint.sources import Sources
from heapwright.model import Trace
from heapwright.model.session import name_of
from heapwright.model.wholeness import why_not_whole
from heapwright.report import units

FOUND = 1
Paths = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="PATHS", help="Only these files, or files under these folders.", show_default=False
    ),
]
With = Annotated[
    Path | None, typer.Option("--with", metavar="FILE", help="A recording: check its hottest lines.")
]
SourceFolder = Annotated[Path, typer.Option("--sources", metavar="DIR", help="The folder with your sources.")]
Commands = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="compile_commands.json or its folder. Default: searched in the sources."
    ),
]
Baseline = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Do not report findings listed in this file.")
]
WriteBaseline = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the findings, for --baseline.")
]
Since = Annotated[str, typer.Option(metavar="REV", help="Only lines changed since this git revision.")]
Fail = Annotated[bool, typer.Option("--fail", help="Exit code 1 if there are findings.")]
Top = Annotated[int, typer.Option(metavar="N", help="Number of findings to show.")]
Fixing = Annotated[bool, typer.Option("--fix", help="Apply the findings' edits to the sources.")]
Tidy = Annotated[bool, typer.Option("--tidy", help="Also run the clang-tidy checks about allocation.")]
Jobs = Annotated[int, typer.Option(metavar="N", help="Files parsed in parallel; 0: one per CPU.")]
Sarif = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write SARIF.")]


def lint(
    paths: Paths = None,
    with_: With = None,
    sources: SourceFolder = Path(),
    compile_commands: Commands = None,
    debug_root: options.DebugRoot = None,
    since: Since = "",
    baseline: Baseline = None,
    write_baseline: WriteBaseline = None,
    fail: Fail = False,
    fix: Fixing = False,
    tidy: Tidy = False,
    jobs: Jobs = 0,
    top: Top = 10,
    sarif: Sarif = None,
    force: options.Force = False,
    json: options.Json = False,
    wide: options.Wide = False,
) -> int:
    """Find the lines that allocate most, and what would avoid it."""
    _check(sources, paths or [], top, jobs)
    inputs = [one for one in (with_, baseline, compile_commands) if one is not None]
    for option, path in (("--sarif", sarif), ("--write-baseline", write_baseline)):
        if path is not None:
            output.check_is_no_input(path, inputs)
            output.check_output(path, force, option)
    if fix and with_ is not None:
        raise InputError("--fix cannot be used with --with: findings from a recording have no edits")
    trace = open_trace(with_, debug_root) if with_ is not None else None
    folder = Sources(sources)
    wanted = tuple(str(path.resolve()) for path in paths or [])
    asked = _Asked(trace, folder, compile_commands, wanted, tidy, jobs or len(os.sched_getaffinity(0)))
    try:
        changed = keep.changed_lines(folder.folder, since) if since else None
        known = keep.read_baseline(baseline) if baseline is not None else frozenset()
        linted = _look(asked)
    except (compiling.CompileError, keep.KeepError) as error:
        raise InputError(str(error)) from None
    kept, hidden = _kept(linted.findings, folder, changed, known)
    linted = linted._replace(findings=kept, hidden=hidden)
    if fix:
        linted = _fixed(linted, folder)
    document = documents.make(linted)
    if write_baseline is not None:
        output.write_text(write_baseline, force, keep.baseline_text(kept))
    if sarif is not None:
        output.write_text(sarif, force, show.sarif(document, folder.folder))
    if json:
        output.print_json(document)
    else:
        show.on_console(document, top, output.make_console(wide))
    output.hint(show.next_command(document))
    is_unknown = trace is None and linted.has_errors
    return FOUND if fail and (is_unknown or len(kept) > len(linted.fixed)) else 0


class _Asked(NamedTuple):
    """trace: None without a recording. jobs: files parsed in parallel."""

    trace: Trace | None
    folder: Sources
    commands: Path | None
    paths: tuple[str, ...]
    tidy: bool
    jobs: int


def _check(sources: Path, paths: Sequence[Path], top: int, jobs: int) -> None:
    if not sources.is_dir():
        raise InputError(f"--sources {sources} is not a folder")
    for path in paths:
        if not path.exists():
            raise InputError(f"no such file or folder: {path}")
        if not path.resolve().is_relative_to(sources.resolve()):
            raise InputError(f"{path} is not under the sources, {sources.resolve()}; give --sources DIR")
    if top < 1:
        raise InputError("--top takes a number of at least 1")
    if jobs < 0:
        raise InputError("--jobs takes a number of at least 0")


def _look(asked: _Asked) -> documents.Linted:
    clang.cindex()  # reports first if it is not installed
    trace, folder = asked.trace, asked.folder
    database = compiling.open_database(asked.commands, folder.folder)
    resource, headers = compiling.resource_arguments()
    notes = [] if trace is None else _notes(trace)
    if not database.path:
        notes.append(
            f"no compile_commands.json: parsed with {' '.join(database.guess[:4])} "
            f"(cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON writes one; --compile-commands FILE)"
        )
    looked = None
    with _steps() as step:
        if trace is None:
            given = static.Input(folder, database, resource, asked.paths, asked.jobs)
            own = static.look(given, step)
            found, problems = own.findings, own.problems
            if refused := unseen.refusal(own, database, folder):
                raise InputError(refused)
            notes += unseen.left(own.left)
        else:
            looked = recorded.look(
                parsed_lines.Input(trace, folder, database, resource, asked.paths, asked.jobs), step
            )
            found, problems = list(looked.findings), list(looked.problems)
            if not looked.findings:
                notes.append(unseen.nothing(looked, folder))
            notes += unseen.newer(looked, trace, folder)
        if problems:
            notes.append(
                f"{len(problems)} parsed files have errors, the first: {problems[0]} (headers: {headers})"
            )
        if asked.tidy:
            found, said = _with_stock(asked, database, found, step)
            notes += said
    return documents.Linted(
        trace.path if trace else "",
        name_of(trace) if trace else "",
        str(folder.folder),
        looked,
        keep.with_fingerprints(found, keep.Lines(folder.folder)),
        {},
        notes,
        bool(trace and trace.metadata.sample_mean_bytes),
        has_errors=bool(problems),
    )


def _with_stock(
    asked: _Asked, database: compiling.Database, own: list[Finding], step: Any
) -> tuple[list[Finding], list[str]]:
    """Adds clang-tidy's findings and a note on them. With a recording: only of files with findings."""
    command = tidy_checks.program()
    if not command:
        return own, [tidy_checks.MISSING]
    folder = asked.folder
    if asked.trace is None:
        files = static.files(folder, database, asked.paths)
    else:
        files = sorted({str(folder.folder / one.file) for one in own})
    own_units = list({unit.file: unit for unit in map(database.unit_of, files)}.values())
    roots = asked.paths or (str(folder.folder),)
    ran = tidy_checks.run(command, own_units, folder, roots, asked.jobs, step)
    return tidy_checks.merged(own, ran.findings), ran.problems[:1]


def _fixed(linted: documents.Linted, folder: Sources) -> documents.Linted:
    """Writes the edits into the sources."""
    try:
        applied = fixing.apply(folder.folder, linted.findings)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot write {error.filename}: {reason}; --fix changes the sources") from None
    files = {one.file for one in applied.fixed}
    notes = [f"{units.counted(len(applied.fixed), 'edit')} written into {units.counted(len(files), 'file')}"]
    if applied.refused:
        first = applied.refused[0]
        notes.append(
            f"{units.counted(len(applied.refused), 'edit')} not written: the lines have changed, or another "
            f"edit changes them; the first is {first.file}:{first.line}"
        )
    return linted._replace(
        fixed=frozenset(one.fingerprint for one in applied.fixed), notes=[*linted.notes, *notes]
    )


def _notes(trace: Trace) -> list[str]:
    return [f"the recording is incomplete: {reason}" for reason in why_not_whole(trace)]


def _kept(
    findings: Sequence[Finding],
    folder: Sources,
    changed: Mapping[str, frozenset[int]] | None,
    known: frozenset[str],
) -> tuple[list[Finding], dict[str, int]]:
    """The reported findings, and the number of suppressed ones by reason."""
    lines = keep.Lines(folder.folder)
    hidden = {"nolint": 0, "baseline": 0, "unchanged": 0}
    kept = []
    for finding in findings:
        if not keep.is_told(finding, lines):
            hidden["nolint"] += 1
        elif finding.fingerprint in known:
            hidden["baseline"] += 1
        elif changed is not None and finding.line not in changed.get(finding.file, ()):
            hidden["unchanged"] += 1
        else:
            kept.append(finding)
    return kept, hidden


@contextmanager
def _steps() -> Iterator[Any]:
    """One progress report per step."""
    open_step: list[Any] = ["", None, None]

    def step(what: str, done: int, whole: int) -> None:
        if open_step[0] != what:
            close()
            context = progress(what)
            open_step[:] = [what, context, context.__enter__()]
        open_step[2](done, whole)

    def close() -> None:
        if open_step[1] is not None:
            open_step[1].__exit__(None, None, None)
            open_step[1] = None

    try:
        yield step
    finally:
        close()
