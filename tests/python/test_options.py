# SPDX-License-Identifier: MIT
"""Each kind of value is read alike by all options of all commands, and a name means one thing in all of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import click
import pytest
import typer
from heapwright.cli import command_line
from heapwright.cli.errors import InputError
from heapwright.cli.options import MOMENT, SECONDS, SIZE, TIME
from heapwright.report import units
from written_traces import Command

APP = typer.main.get_command(command_line.make_app(command_line.COMMANDS))
KINDS = {"TIME": (TIME, SECONDS, MOMENT), "SIZE": (SIZE,)}
# What an option takes, as its help names it. A new one must be one of these, or come with its own reader.
METAVARS = {
    *KINDS, *"N FILE DIR FOLDER REGEX NAME WHAT PID|NAME THREAD PERCENT END FORMAT OUT PATTERN TEXT KEY".split(),
    *"A,B,… CPU X TIMES URL REV PATHS COMMAND ADDRESS NAME=VALUE CHANGE@SITE,… FILE.json SHELL WHEN".split(),
    "N|N,N|site:SITE", "REMEDY", "more|less",
}  # fmt: skip
# What one name takes in a command of its own.
SEVERAL_TAKES = {
    "--output": {"PATTERN", "FILE", "OUT"},  # a pattern where several processes write
    "--site": {"REGEX"},
    "--remedy": {"REMEDY", "CHANGE@SITE,…"},  # settings and allocators need no file to keep them
    "--top": {"N"},
}


def options_of(command: str) -> Iterator[click.Option]:
    assert isinstance(APP, click.Group)
    for param in APP.commands[command].params:
        if isinstance(param, click.Option):
            yield param


def all_options() -> list[tuple[str, click.Option]]:
    return [(command, option) for command in command_line.COMMANDS for option in options_of(command)]


VALUED = [(command, option) for command, option in all_options() if not option.is_flag]


@pytest.mark.parametrize(("command", "option"), VALUED, ids=lambda one: getattr(one, "name", one))
def test_every_option_takes_a_known_kind_of_value(command: str, option: click.Option) -> None:
    assert option.metavar in METAVARS, f"{command} {option.opts[0]}"
    if option.metavar in KINDS:
        assert option.type in KINDS[option.metavar], (
            f"{command} {option.opts[0]} reads {option.metavar} itself"
        )
    elif option.metavar not in ("NAME", "WHAT", "WHEN"):  # the collector reads WHEN
        words = (option.help or "").split(" Default")[0]
        assert not re.search(r"\b(bytes|seconds|\d+([kMG]|ms|s|m|min))\b", words), (
            f"{command} {option.opts[0]}"
        )


@pytest.mark.parametrize("option", [option for _, option in VALUED if option.metavar == "TIME"], ids=str)
def test_times_are_read_alike(option: click.Option) -> None:
    second = 1 if option.type is SECONDS else 10**9
    context = click.Context(APP)
    for text, seconds in (
        ("2", 2), ("2s", 2), ("500ms", 0.5), ("10m", 600), ("10min", 600), ("1.5h", 5400), ("2 min 5 s", 125),
    ):  # fmt: skip
        assert option.type_cast_value(context, [text] if option.multiple else text) == seconds * second
    for text in ("10M", "2x", "soon", "s", "1 2", "2sec"):
        with pytest.raises(
            InputError, match=rf"^{option.opts[0]} takes a time such as 2.5s, 300ms or 10m, not"
        ):
            option.type_cast_value(context, text)
    with pytest.raises(InputError, match=f"^{option.opts[0]} must not be empty$"):
        option.type_cast_value(context, "")


@pytest.mark.parametrize("option", [option for _, option in VALUED if option.metavar == "SIZE"], ids=str)
def test_sizes_are_read_alike(option: click.Option) -> None:
    context = click.Context(APP)
    for text, size in (
        ("4096", 4096), ("10M", 10 << 20), ("10MB", 10 << 20), ("512KiB", 512 << 10), ("1.5g", 3 << 29),
        ("512 B", 512), ("1.50 KiB", 1536),
    ):  # fmt: skip
        assert option.type_cast_value(context, text) == size
    for text in ("10q", "ms", "-1", "1 2"):
        with pytest.raises(InputError, match=rf"^{option.opts[0]} takes a number of bytes such as"):
            option.type_cast_value(context, text)


@pytest.mark.parametrize("value", [7, 900, 12_300, 45_600_000, 789 * 10**6, 61 * 10**9, 125 * 10**9])
def test_printed_times_and_sizes_are_read(value: int) -> None:
    assert TIME.convert(units.duration(value), None, None) == value
    assert SIZE.convert(units.size(value << 10), None, None) == pytest.approx(value << 10, rel=0.005)


def test_a_name_means_one_thing_in_all_commands() -> None:
    kinds: dict[str, set[str | None]] = defaultdict(set)
    helps: dict[str, dict[str | None, list[str]]] = defaultdict(lambda: defaultdict(list))
    for command, option in all_options():
        kinds[option.opts[0]].add("flag" if option.is_flag else option.metavar)
        helps[option.opts[0]][option.help].append(command)
    for name, found in kinds.items():
        assert found <= SEVERAL_TAKES.get(name, found) and (len(found) == 1 or name in SEVERAL_TAKES), (
            name,
            found,
        )
    for name in ("--from", "--until", "--force", "--html", "--despite-seccomp", "--wide", "--limit", "--md"):
        assert len(helps[name]) == 1, (name, dict(helps[name]))
    assert "--for" not in kinds  # --duration says it


def test_run_has_the_options_of_record_and_explain() -> None:
    names = {option.opts[0] for option in options_of("run")}
    for command in ("record", "explain"):
        assert {option.opts[0] for option in options_of(command)} - names <= {"--quiet"}, command


def test_old_names_are_answered_with_the_new(command: Command) -> None:
    assert (
        command("count", "--pid", "1", "--for", "2s").err
        == "heapwright: unknown option --for; use --duration\n"
    )
    said = command("count", "--pid", "1", "--force")
    assert said.err == "heapwright: unknown option --force; use --despite-seccomp\n"
