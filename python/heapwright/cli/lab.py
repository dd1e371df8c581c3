# SPDX-License-Identifier: MIT
"""heapwright lab: experiments on any allocator."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from heapwright.cli import arguments, native_programs, options, output, size_replay
from heapwright.cli.errors import InputError
from heapwright.cli.runs_progress import progress
from heapwright.cli.streams import say
from heapwright.lab import catalogue, page, tables
from heapwright.lab.session import Session
from heapwright.measure import results
from heapwright.measure.allocators import Shelf
from heapwright.measure.errors import MeasureError
from heapwright.measure.experiment import Experiment
from heapwright.measure.runner import Settings

PROGRAM = "heapwright-lab"
Runs = Annotated[int, typer.Option(metavar="N", help="Runs of each allocator; 0 = as many as needed.")]
TraceFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="buffer-cache: replay the sizes from this recording."),
]
SiteOfTrace = Annotated[str, typer.Option(metavar="REGEX", help="With --trace: call sites that match.")]


def lab(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="An experiment, or all. Default: list the experiments.")
    ] = "",
    on: Annotated[
        str,
        typer.Option(
            metavar="A,B,…", help="Allocators: names or paths of .so files. Default: all installed."
        ),
    ] = "",
    runs: Runs = 0,
    json: options.Json = False,
    html: options.Page = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter of the load. Repeatable."),
    ] = None,
    scale: Annotated[float, typer.Option(metavar="X", help="Size of the loads; 0.1 is a tenth.")] = 1.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the random load.")] = 1,
    limit: options.Limit = 120.0,
    pin: Annotated[
        int, typer.Option(metavar="CPU", help="Pin single-threaded loads to this CPU; -1 = the last one.")
    ] = -1,
    no_pin: Annotated[bool, typer.Option("--no-pin", help="Do not pin.")] = False,
    trace: TraceFile = None,
    site: SiteOfTrace = "",
    force: options.Force = False,
    wide: options.Wide = False,
) -> int:
    """Run experiments on this machine's allocators."""
    if trace is not None or site:
        return _replay(name, trace, site, json)
    program = native_programs.find(PROGRAM)
    build = program.parent.parent
    built = Path.cwd() / "build"
    shelf = Shelf(program, [build, build.parent, built / "release", built])
    try:
        _check_page(html, json, force)
        if not name:
            _list(shelf, json, wide)
            return 0
        experiments = catalogue.choose(name)
        if name == catalogue.ALL and set_:
            raise MeasureError("--set needs one experiment; --scale changes the size of all")
        settings = _settings(runs, scale, seed, limit, None if no_pin else pin, set_ or [])
        allocators = shelf.choose([part for part in on.split(",") if part])
        if not on:
            _name_missing(shelf)
        with progress() as report:
            document = Session(program, shelf, allocators, settings).run(experiments, report)
    except MeasureError as error:
        raise InputError(str(error)) from None
    _give(document, experiments, json, html, force, wide)
    return _exit_code([*shelf.unusable, *results.failures(document)])


def _replay(name: str, trace: Path | None, site: str, json: bool) -> int:
    if name != "buffer-cache" or trace is None:
        raise InputError("--trace and --site apply only to buffer-cache: lab buffer-cache --trace FILE")
    found = size_replay.replay(trace, arguments.checked_pattern("--site", site))
    if json:
        output.print_json(found)
    else:
        print(size_replay.as_text(found))
    return 0


def _check_page(html: Path | None, json: bool, force: bool) -> None:
    if html is not None:
        output.check_output(html, force)
        if json and output.is_stdout(html):
            raise InputError("--json and --html - both write to standard output; name a file with --html")


def _settings(
    runs: int, scale: float, seed: int, limit: float, pin: int | None, changes: Sequence[str]
) -> Settings:
    if not 0 <= runs <= 100:
        raise MeasureError("--runs takes 1 to 100 (0 = as many as needed)")
    if not 0 < scale <= 1000:
        raise MeasureError("--scale takes a number above 0, up to 1000")
    if not 0 <= seed < 10**12:
        raise MeasureError("--seed takes a whole number from 0 to 10^12")
    if not 0 < limit <= 86400:
        raise MeasureError("--limit takes seconds above 0, up to 86400")
    parameters = {}
    for change in changes:
        name, has_value, value = change.partition("=")
        if not name or not has_value:
            raise MeasureError(f"--set takes NAME=VALUE, such as --set threads=4, not '{change}'")
        parameters[name] = value
    permitted = sorted(os.sched_getaffinity(0))
    if pin is not None and pin >= 0 and pin not in permitted:
        raise MeasureError(
            f"not permitted to pin to CPU {pin}; use one of {', '.join(map(str, permitted))}, or --no-pin"
        )
    pinned = permitted[-1] if pin == -1 else pin
    return Settings(runs, scale=scale, seed=seed, limit_s=limit, pin_cpu=pinned, parameters=parameters)


def _name_missing(shelf: Shelf) -> None:
    ways: dict[str, list[str]] = {}
    for missing in shelf.missing():
        ways.setdefault(missing.brought_by, []).append(missing.name)
    for brought_by, names in ways.items():
        say(f"heapwright: not installed: {', '.join(names)}; to install: {brought_by}")


def _list(shelf: Shelf, json: bool, wide: bool) -> None:
    allocators = shelf.choose([])
    if json:
        listed: dict[str, Any] = {
            "experiments": {e.name: e.title for e in catalogue.EXPERIMENTS},
            "allocators": [allocator.as_record() for allocator in allocators],
            "missing": {missing.name: missing.brought_by for missing in shelf.missing()},
        }
        output.print_json(listed)
        return
    console = output.make_console(wide)
    for experiment in catalogue.EXPERIMENTS:
        console.print(f"  {experiment.name:16}{experiment.title}")
    console.print(f"on: {', '.join(allocator.title for allocator in allocators)}")
    for missing in shelf.missing():
        console.print(f"not installed: {missing.name} ({missing.brought_by})")
    output.hint(f"heapwright lab {catalogue.EXPERIMENTS[0].name}")


def _give(
    document: dict[str, Any],
    experiments: Sequence[Experiment],
    json: bool,
    html: Path | None,
    force: bool,
    wide: bool,
) -> None:
    if html is not None:
        output.write_text(html, force, page.render(experiments, document))
        if output.is_stdout(html):
            return
    if json:
        output.print_json(document)
        return
    tables.show(experiments, document, output.make_console(wide))
    output.hint(f"open {html} in a browser" if html else "add --html lab.html for charts")


def _exit_code(lines: Sequence[str]) -> int:
    """2 if something crashed, hung or could not be run; 0 otherwise."""
    for line in lines:
        say(f"heapwright: {line}")
    return 2 if lines else 0
