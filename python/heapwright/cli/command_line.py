# SPDX-License-Identifier: MIT
"""The declared command line: every command's options, help and usage errors."""

from __future__ import annotations

import difflib
import keyword
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from click import ClickException, Context
from click.core import ParameterSource
from typer.core import TyperCommand, TyperGroup

from heapwright.cli.errors import InputError

COMMANDS = (
    "record",
    "explain",
    "run",
    "sql",
    "export",
    "info",
    "replay",
    "try",
    "keep",
    "compare",
    "gate",
    "lint",
    "lab",
    "count",
    "top",
    "dump",
    "snapshot",
    "serve",
    "fleet",
)
SHELLS = ("bash", "zsh", "fish")
_COMPLETE = "_HEAPWRIGHT_COMPLETE"  # set by the completion scripts
_TAKE_A_PROGRAM = ("record", "run", "count")
_MAY_TAKE_A_PROGRAM = ("gate", "try")  # after --
_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
_PASSED_ON = {"allow_extra_args": True, "allow_interspersed_args": False, "ignore_unknown_options": False}
# Names from other tools, whose nearest spelling here is a different option.
_OTHER_NAMES = {
    "--to": "--until",
    "--min-size": "--min-block",
    "--max-size": "--max-block",
    "--for": "--duration",
    "--force": "--despite-seccomp",
}

EXAMPLES = {
    "": (
        "heapwright run -- ls -l",
        "heapwright record -o ls.heapwright -- ls -l",
        "heapwright explain ls.heapwright",
    ),
    "record": (
        "heapwright record -- ls -l",
        "heapwright record --children --output 'build.%e.%p.heapwright' -- make",
        "heapwright record --sample 512k --duration 60 -- ./server",
        "heapwright record --pid 1234 --sample 512k --duration 600",
    ),
    "explain": (
        "heapwright explain ls.heapwright",
        "heapwright explain ls.heapwright --all",
        "heapwright explain ls.heapwright --question peak --top 30 --wide",
        "heapwright explain ls.heapwright --from 1s --until 2.5s --thread main",
        "heapwright explain ls.heapwright --through 'print_dir' --full-stacks --top 3",
        "heapwright explain ls.heapwright --tree callers --measure time --min-share 5",
        "heapwright explain ls.heapwright --browse",
    ),
    "run": ("heapwright run -- ls -l", "heapwright run --top 3 -o ls.heapwright -- ls -l"),
    "sql": (
        "heapwright sql ls.heapwright 'select kind, count(*) from event group by kind'",
        "heapwright sql ls.heapwright 'describe block'",
        "heapwright sql ls.heapwright 'from site order by bytes desc limit 5' --csv",
    ),
    "export": (
        "heapwright export ls.heapwright --to pprof",
        "heapwright export ls.heapwright --to folded --measure peak -o - | flamegraph.pl > peak.svg",
        "heapwright export ls.heapwright --to parquet --table block",
    ),
    "info": ("heapwright info ls.heapwright", "heapwright info ls.heapwright --json"),
    "replay": (
        "heapwright replay ls.heapwright",
        "heapwright replay ls.heapwright --on jemalloc,mimalloc --set glibc.arena_max=1",
    ),
    "try": (
        "heapwright try shop.heapwright -- ./shop load.txt",
        "heapwright try --remedy set:glibc.arena_max=1 --remedy on:jemalloc -- ./shop load.txt",
        "heapwright try shop.heapwright --while ./load.sh --ready 'nc -z localhost 80' -- ./server",
    ),
    "keep": (
        "heapwright keep shop.heapwright --remedy segregate@session",
        "heapwright keep shop.heapwright --remedy reuse@load_image+trim:1000 -o shop.toml",
    ),
    "compare": (
        "heapwright compare before.heapwright after.heapwright",
        "heapwright compare --run './shop-old load.txt' --run './shop-new load.txt'",
        "heapwright compare before/ after/ --md",
    ),
    "gate": (
        "heapwright gate heap.toml ls.heapwright",
        "heapwright gate heap.toml --junit heap.xml -- ./test_shop",
        "heapwright gate heap.toml ls.heapwright --accept --reason 'an index for search'",
    ),
    "lint": (
        "heapwright lint --with ls.heapwright --sources src",
        "heapwright lint --with ls.heapwright --since main --sarif heap.sarif",
        "heapwright lint --sources src --fail",
    ),
    "count": (
        "heapwright count -- python3 -c 'print(1)'",
        "heapwright count --interval 1s --json -- ./server",
        "heapwright count --pid 1234",
        "heapwright count --sample 512k --dump-when oom -- ./server",
    ),
    "dump": ("heapwright dump 1234", "heapwright dump server -o now.heapwright"),
    "snapshot": ("heapwright snapshot 1234", "heapwright snapshot server --json"),
    "top": ("heapwright top", "heapwright top --once --json", "heapwright top 1234"),
    "fleet": ("heapwright fleet facts", "heapwright fleet facts --question regressions --json"),
    "serve": ("heapwright serve", "heapwright serve --port 9000", "heapwright serve --dashboard > heap.json"),
    "lab": ("heapwright lab", "heapwright lab latency --on glibc,heapwright --html latency.html"),
}  # fmt: skip


def _print_version(wanted: bool) -> None:
    if wanted:
        from heapwright import __version__

        sys.stdout.write(f"heapwright {__version__}\n")
        raise typer.Exit


def _print_completion(shell: str) -> None:
    if shell:
        from typer._completion_shared import get_completion_script

        from heapwright.cli.arguments import one_of

        one_of("shell", shell, SHELLS)
        script = get_completion_script(prog_name="heapwright", complete_var=_COMPLETE, shell=shell)
        sys.stdout.write(script + "\n")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    completion: Annotated[
        str,
        typer.Option(
            metavar="SHELL",
            callback=_print_completion,
            is_eager=True,
            help=f"Print the completion script for a shell: {', '.join(SHELLS)}.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Record a program's heap calls and explain what its heap costs."""


class _Command(TyperCommand):
    def get_help(self, ctx: Context) -> str:
        return _readable(super().get_help(ctx))

    def invoke(self, ctx: Context) -> Any:
        for param in self.params:
            is_empty = ctx.params.get(param.name or "") in ("", [""], ("",))
            is_option = param.opts[0].startswith("-")
            if (
                is_empty
                and is_option
                and ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
            ):
                raise InputError(f"{param.opts[0]} must not be empty")  # an unset variable in a script
        return super().invoke(ctx)


class _Group(TyperGroup):
    def get_help(self, ctx: Context) -> str:
        return _readable(super().get_help(ctx))


def _readable(text: str) -> str:
    return text.replace("\\[", "[")  # typer escapes brackets for markup, which is off


def _epilog(command: str) -> str:
    lines = "\n".join(f"  {example}" for example in EXAMPLES[command])
    return f"\b\nExamples:\n{lines}"


def make_app(names: Sequence[str]) -> typer.Typer:
    """The command line with these commands. Imports only their modules: importing all of them takes
    longer than reading most traces."""
    app = typer.Typer(
        cls=_Group,
        name="heapwright",
        help="Record a program's heap calls and explain what its heap costs.",
        epilog=_epilog(""),
        context_settings=_SETTINGS,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for name in names:
        takes_program = name in _TAKE_A_PROGRAM
        app.command(
            name,
            cls=_Command,
            epilog=_epilog(name),
            options_metavar="[OPTIONS] -- PROGRAM [ARGUMENTS]" if takes_program else "[OPTIONS]",
            context_settings=_PASSED_ON if takes_program else None,
        )(_function(name))
    return app


def _function(name: str) -> Callable[..., object]:
    """A command's; a word of Python's own has a _ behind it."""
    name = f"{name}_" if keyword.iskeyword(name) else name
    found: Callable[..., object] = getattr(import_module(f"heapwright.cli.{name}"), name)
    return found


def run(arguments: list[str]) -> int:
    """Runs one command and returns its exit code. Raises InputError for usage errors."""
    if _COMPLETE in os.environ:
        return _complete()
    chosen = arguments[:1] if arguments[:1] and arguments[0] in COMMANDS else COMMANDS
    command = typer.main.get_command(make_app(chosen))
    program: list[str] = []
    if arguments[:1] and arguments[0] in _MAY_TAKE_A_PROGRAM and "--" in arguments:
        at = arguments.index("--")
        arguments, program = arguments[:at], arguments[at + 1 :]
    try:
        # Not through command.main(), which exits when a pipe is closed.
        with command.make_context("heapwright", arguments or ["--help"], obj=program) as context:
            code = command.invoke(context)
    except typer.Exit as request:
        return request.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except ClickException as error:
        raise InputError(_usage_message(error, arguments)) from None
    return code if isinstance(code, int) else 0


def _complete() -> int:
    from typer._completion_classes import completion_init

    completion_init()
    try:
        make_app(COMMANDS)([], prog_name="heapwright")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def _usage_message(error: ClickException, arguments: list[str]) -> str:
    option = getattr(error, "option_name", None)
    context = getattr(error, "ctx", None)
    command = context.info_name if context is not None and context.parent is not None else ""
    see = f"see heapwright {command} --help" if command else "see heapwright --help"
    possibilities = getattr(error, "possibilities", None)
    if isinstance(option, str) and type(error).__name__ == "NoSuchOption":
        near = sorted(
            possibilities or (), key=lambda name: -difflib.SequenceMatcher(None, name, option).ratio()
        )
        if context is not None and any(
            _OTHER_NAMES.get(option) in param.opts for param in context.command.params
        ):
            return f"unknown option {option}; use {_OTHER_NAMES[option]}"
        return f"unknown option {option}" + (f"; did you mean {near[0]}?" if near else f"; {see}")
    first = next((argument for argument in arguments if not argument.startswith("-")), "")
    if first and first not in COMMANDS and not command:
        near = difflib.get_close_matches(first, COMMANDS, 1)
        return f"unknown command {first}; " + (f"did you mean {near[0]}?" if near else see)
    message = str(getattr(error, "format_message", lambda: str(error))()).rstrip(".")
    return f"{message[:1].lower()}{message[1:]}; {see}"
