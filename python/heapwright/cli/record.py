# SPDX-License-Identifier: MIT
"""heapwright record: executes heapwright-collect, which records a new or running process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated

import typer

from heapwright.cli import native_programs
from heapwright.cli.errors import InputError
from heapwright.cli.options import SIZE, TIME, Force
from heapwright.live.processes import find_by_name, may_be_process

Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="PATTERN",
        help="File to write: %p process id, %h host, %e program; - is standard output "
        "(the program's output then goes to standard error).",
    ),
]
Children = Annotated[bool, typer.Option("--children", help="Also record child processes, one file each.")]
FreeStacks = Annotated[bool, typer.Option("--free-stacks", help="Keep the call stack of every free.")]
NoDurations = Annotated[bool, typer.Option("--no-durations", help="Do not time the calls.")]
NoStacks = Annotated[bool, typer.Option("--no-stacks", help="Keep no call stacks.")]
NoPython = Annotated[
    bool, typer.Option("--no-python", help="Keep no Python functions in call stacks, only the interpreter's.")
]
NoResidency = Annotated[bool, typer.Option("--no-residency", help="Do not record which pages are resident.")]
NoKernelEvents = Annotated[
    bool,
    typer.Option("--no-kernel-events", help="Do not record page faults and waits within calls."),
]
WhenFull = Annotated[
    str,
    typer.Option(
        metavar="WHAT",
        help="Where the collector is too slow for the program: wait for it, or drop calls and count them.",
    ),
]
Snapshot = Annotated[
    str,
    typer.Option(
        metavar="WHEN",
        help="Look at who holds which block (held): end (before the exit), every=10m, above=2G, peak; "
        "several with commas.",
    ),
]
NoStop = Annotated[
    bool,
    typer.Option(
        "--no-stop", help="In snapshots, let the program run while its memory is copied, three times or more."
    ),
]
Unaligned = Annotated[
    bool,
    typer.Option(
        "--unaligned", help="In snapshots, look for pointers at every byte, as packed structs have them."
    ),
]
MaxFrames = Annotated[str, typer.Option(metavar="N", help="Frames to keep of each call stack, 1 to 128.")]
Sample = Annotated[
    int | None,
    typer.Option(
        metavar="SIZE", click_type=SIZE, help="Sample: record one block per SIZE allocated, on average."
    ),
]
MaxSize = Annotated[
    int | None, typer.Option(metavar="SIZE", click_type=SIZE, help="Stop recording at this total file size.")
]
Duration = Annotated[
    int | None,
    typer.Option(metavar="TIME", click_type=TIME, help="Stop recording after this time (90s, 10m)."),
]
Control = Annotated[
    str, typer.Option(metavar="FILE", help='Do what FILE says: "start", "stop" or "snapshot".')
]
Paused = Annotated[bool, typer.Option("--paused", help="Do not record until a start is requested.")]
KeepArguments = Annotated[
    bool, typer.Option("--keep-arguments", help="Store the program's arguments in the trace.")
]
NoSettings = Annotated[
    bool,
    typer.Option("--no-settings", help="Do not store the allocator's settings (MALLOC_ARENA_MAX …)."),
]
Pid = Annotated[
    str,
    typer.Option("--pid", metavar="PID|NAME", help="Record a running process, until --duration or Ctrl-C."),
]
Patch = Annotated[
    bool,
    typer.Option(
        "--patch",
        help="Record the allocator inside the program, from its first instruction on, as --pid would.",
    ),
]
DespiteSeccomp = Annotated[
    bool,
    typer.Option(
        "--despite-seccomp",
        help="With --pid, --patch: attach even if a seccomp filter might kill the process.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print errors only.")]
Json = Annotated[bool, typer.Option("--json", help="Print a summary as JSON on stdout at the end.")]


def record(
    context: typer.Context,
    output: Output = "",
    force: Force = False,
    children: Children = False,
    free_stacks: FreeStacks = False,
    no_durations: NoDurations = False,
    no_stacks: NoStacks = False,
    no_python: NoPython = False,
    no_residency: NoResidency = False,
    no_kernel_events: NoKernelEvents = False,
    when_full: WhenFull = "",
    snapshot: Snapshot = "",
    no_stop: NoStop = False,
    unaligned: Unaligned = False,
    max_frames: MaxFrames = "",
    sample: Sample = None,
    max_size: MaxSize = None,
    duration: Duration = None,
    control: Control = "",
    paused: Paused = False,
    keep_arguments: KeepArguments = False,
    no_settings: NoSettings = False,
    pid: Pid = "",
    patch: Patch = False,
    despite_seccomp: DespiteSeccomp = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Record the heap calls of a program, or of a running process."""
    options = dict(locals())
    del options["context"]
    if pid:
        if context.args:
            raise InputError("--pid records a running process: omit the program")
        options["pid"] = str(process_of(pid))
        command = collector_command(options, [])
    else:
        command = collector_command(options, program_of(context, "record"))
    os.execv(command[0], command)


def process_of(wanted: str) -> int:
    """The id of a process given by id or by unique name."""
    if wanted.isdecimal():
        if not may_be_process(int(wanted)):
            raise InputError(f"process {wanted} is not recorded: there is no such process")
        return int(wanted)
    found = find_by_name(wanted)
    if not found:
        raise InputError(f"no process is called {wanted}; give its id")
    if len(found) > 1:
        raise InputError(f"{len(found)} processes are called {wanted}; give an id: {found[0]}, {found[1]} …")
    return found[0]


def program_of(context: typer.Context, command: str) -> list[str]:
    """The program and its arguments: everything after the options."""
    if not context.args:
        raise InputError(f"name a program to record: heapwright {command} [options] -- PROGRAM [ARGUMENTS]")
    return list(context.args)


def collector_command(options: Mapping[str, str | int | None], program: list[str]) -> list[str]:
    """The collector's command line. Options have the same names there; "", None and False are left out.

    program: empty for a running process."""
    command = [str(native_programs.find())]
    if not program or options.get("patch"):  # the collector starts it
        native_programs.find(native_programs.ATTACHER)
    for name, value in options.items():
        if value in ("", None) or value is False:
            continue
        command.append("--" + name.replace("_", "-"))
        if value is not True:
            command.append(f"{value}ns" if name == "duration" else str(value))
    return [*command, "--", *program] if program else command
