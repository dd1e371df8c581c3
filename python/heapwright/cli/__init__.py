# SPDX-License-Identifier: MIT
"""The command line: one module per command.

A user's mistake gets one line on stderr and exit code 2; the program's own
exit code is passed through by record and run.
"""

from __future__ import annotations

import difflib
import os
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from heapwright.cli import explain, export, info, lab, record, run, sql
from heapwright.cli.arguments import InputError
from heapwright.model import TraceError

COMMANDS = ("record", "explain", "run", "sql", "export", "info", "lab")

app = typer.Typer(
    name="heapwright",
    help="Know what your heap costs, and why: record a program, then ask.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
_PASSED_ON = {"allow_extra_args": True, "allow_interspersed_args": False, "ignore_unknown_options": False}
app.command("record", context_settings=_PASSED_ON)(record.record)
app.command("explain")(explain.explain)
app.command("run", context_settings=_PASSED_ON)(run.run)
app.command("sql")(sql.sql)
app.command("export")(export.export)
app.command("info")(info.info)
app.command("lab")(lab.lab)


def _print_version(wanted: bool) -> None:
    if wanted:
        from heapwright import __version__

        sys.stdout.write(f"heapwright {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Know what your heap costs, and why: record a program, then ask."""


def main() -> None:
    """Runs the command line and exits."""
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: list[str]) -> int:
    """Runs one command; its exit code."""
    try:
        code = app(arguments, prog_name="heapwright", standalone_mode=False)
        sys.stdout.flush()
    except (InputError, TraceError) as error:
        return _fail(str(error))
    except typer.Exit as request:
        return request.exit_code
    except TyperException as error:
        return _fail(_usage_message(error, arguments))
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("heapwright: interrupted\n")
        return 130
    except BrokenPipeError:
        # The reader went away (`| head`): not an error. Python would complain
        # once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code if isinstance(code, int) else 0


def _fail(message: str) -> int:
    sys.stderr.write(f"heapwright: {' '.join(message.split())}\n")
    return 2


def _usage_message(error: TyperException, arguments: list[str]) -> str:
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


__all__ = ["app", "main", "run_command"]
