# SPDX-License-Identifier: MIT
"""The command line: one module per command.

A user's mistake gets one line on stderr and exit code 2; the program's own
exit code is passed through by record and run.
"""

from __future__ import annotations

import difflib
import gc
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import FrameType
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


def main() -> None:
    """Runs the command line and exits."""
    gc.disable()  # a command ends before cycles matter; looking for them is a tenth of its start
    sys.exit(run_command(sys.argv[1:]))


class _Interruption:
    """Remembers Ctrl-C, which libraries below turn into errors and exit codes of their own."""

    def __init__(self) -> None:
        self.has_come = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self.has_come = True
        raise KeyboardInterrupt


def run_command(arguments: list[str]) -> int:
    """Runs one command; its exit code."""
    interruption = _Interruption()
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, interruption)
    code = 0
    try:
        code = _run(arguments)
    except (KeyboardInterrupt, typer.Abort):
        interruption.has_come = True
    except Exception:
        if not interruption.has_come:
            raise
    finally:
        signal.signal(signal.SIGINT, before)
    if not interruption.has_come:
        return code
    sys.stderr.write("heapwright: interrupted\n")
    return 128 + signal.SIGINT


def _run(arguments: list[str]) -> int:
    try:
        chosen = arguments[:1] if arguments[:1] and arguments[0] in COMMANDS else COMMANDS
        code = make_app(chosen)(arguments, prog_name="heapwright", standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        return _fail(str(error))
    except typer.Exit as request:
        return request.exit_code
    except ClickException as error:
        return _fail(_usage_message(error, arguments))
    except BrokenPipeError:
        # The reader went away (`| head`): not an error. Python would complain
        # once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if not _is_trace_error(error):
            raise
        return _fail(str(error))
    return code if isinstance(code, int) else 0


def _is_trace_error(error: Exception) -> bool:
    model = sys.modules.get("heapwright.model")  # not there: no trace was opened
    return model is not None and isinstance(error, model.TraceError)


def _fail(message: str) -> int:
    sys.stderr.write(f"heapwright: {' '.join(message.split())}\n")
    return 2


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


__all__ = ["main", "make_app", "run_command"]
