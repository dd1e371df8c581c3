# SPDX-License-Identifier: MIT
"""The declared command line: every command's options, its help, and words for what was mistyped."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer
from click import ClickException

from heapwright.cli.errors import InputError

COMMANDS = ("record", "explain", "run", "sql", "export", "info", "lab")
_TAKE_A_PROGRAM = ("record", "run")
_PASSED_ON = {"allow_extra_args": True, "allow_interspersed_args": False, "ignore_unknown_options": False}


def _print_version(wanted: bool) -> None:
    if wanted:
        from heapwright import __version__

        sys.stdout.write(f"heapwright {__version__}\n")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Know what your heap costs, and why: record a program, then ask."""


def make_app(names: Sequence[str]) -> typer.Typer:
    """The command line with these commands. A command's modules are imported here, and only its own:
    importing all of them takes longer than most traces take to read."""
    app = typer.Typer(
        name="heapwright",
        help="Know what your heap costs, and why: record a program, then ask.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for name in names:
        command = getattr(import_module(f"heapwright.cli.{name}"), name)
        app.command(name, context_settings=_PASSED_ON if name in _TAKE_A_PROGRAM else None)(command)
    return app


def run(arguments: list[str]) -> int:
    """Runs one command; its exit code. Raises InputError for what the user got wrong."""
    chosen = arguments[:1] if arguments[:1] and arguments[0] in COMMANDS else COMMANDS
    try:
        code = make_app(chosen)(arguments, prog_name="heapwright", standalone_mode=False)
    except typer.Exit as request:
        return request.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except ClickException as error:
        raise InputError(_usage_message(error, arguments)) from None
    return code if isinstance(code, int) else 0


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
        return f"unknown option {option}" + (f"; did you mean {near[0]}?" if near else f"; {see}")
    first = next((argument for argument in arguments if not argument.startswith("-")), "")
    if first and first not in COMMANDS and not command:
        near = difflib.get_close_matches(first, COMMANDS, 1)
        return f"unknown command {first}; " + (f"did you mean {near[0]}?" if near else see)
    message = str(getattr(error, "format_message", lambda: str(error))()).rstrip(".")
    return f"{message[:1].lower()}{message[1:]}; {see}"
