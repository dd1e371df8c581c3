# SPDX-License-Identifier: MIT
"""The candidates of a replay: allocators with settings. The first is what it was recorded on."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from heapwright.measure.allocators import REFERENCE, Allocator, Shelf
from heapwright.measure.errors import MeasureError
from heapwright.model.records import Metadata
from heapwright.replay import obedience, settings
from heapwright.replay.remedy import Remedy

C_LIBRARY = "libc.so.6"


@dataclass(frozen=True, slots=True)
class Candidate(Allocator):
    """An allocator with settings; variables: the environment that applies them.

    change: the text of the change with which the recording is replayed; "": as recorded.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    change: str = ""

    def environment(self) -> dict[str, str]:
        """The environment of a process that it serves, without other allocators' settings."""
        own = {name: value for name, value in os.environ.items() if not settings.is_of_allocators(name)}
        own.pop("LD_PRELOAD", None)
        return {**own, **self.variables, **({"LD_PRELOAD": self.path} if self.path else {})}

    def command(self, program: str, brings_own: bool = False) -> str:
        """The command to run the program with it; brings_own: the program brings its own allocator.

        A program linked with an allocator calls the C library's if that comes first.
        """
        preload = self.path or (C_LIBRARY if brings_own else "")
        variables = {**self.variables, **({"LD_PRELOAD": preload} if preload else {})}
        words = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
        return " ".join([*words, shlex.quote(program)])


@dataclass(frozen=True, slots=True)
class Chosen:
    """The candidates, the reference first. is_recorded: the reference is what the recording ran on."""

    candidates: list[Candidate]
    is_recorded: bool
    notes: list[str]


def choose(
    shelf: Shelf, metadata: Metadata, on: Sequence[str], sets: Sequence[str], searches: bool = False
) -> Chosen:
    """All named allocators, or all installed; searches: with a grid of settings for each. MeasureError."""
    parsed = [settings.parse(text) for text in sets]
    asked = len(parsed)
    notes: list[str] = []
    found = [_plain(allocator) for allocator in shelf.choose(on)]
    if searches:
        tried = [f"{a.name}.{words}" for a in found for words in settings.GRID.get(a.name, ())]
        parsed += [settings.parse(text) for text in tried]
    reference = _recorded(shelf, metadata, on, notes)
    is_recorded = reference is not None
    if reference is None:
        reference = next((a for a in found if a.name == REFERENCE), None) or _plain(
            shelf.choose([REFERENCE])[0]
        )
    others = [a for a in found if (a.path, dict(a.variables)) != (reference.path, dict(reference.variables))]
    for number, (allocator, chosen) in enumerate(parsed):
        base = shelf.choose([allocator])[0]
        words = ",".join(f"{name}={value}" for name, value in chosen.items())
        variables = settings.environment_of(allocator, chosen)
        candidate = Candidate(f"{allocator} {words}", base.version, base.path, variables)
        try:
            obedience.check(shelf, candidate, allocator, chosen)
        except MeasureError as error:
            if number < asked:
                raise
            notes.append(f"not tried: {error}")
            continue
        others.append(candidate)
    return Chosen(_with_own_names([reference, *others]), is_recorded, notes)


def with_remedy(shelf: Shelf, recorded: Candidate, remedy: Remedy) -> Candidate:
    """The recorded allocator with the remedy, or another one that it needs; MeasureError.

    Its name begins with the allocator's, by which a replay knows what it does.
    """
    family = remedy.allocator or recorded.name.split()[0]
    is_recorded = family == recorded.name.split()[0]
    base = recorded if is_recorded else _plain(shelf.choose([family])[0])
    variables = base.variables
    if remedy.settings:
        variables = settings.environment_of(*settings.parse(remedy.settings), variables)
    name = f"{base.name.split()[0]} {remedy.text}"
    return replace(base, name=name, variables=variables, change=remedy.change)


def with_changes(chosen: Chosen, changes: Sequence[str]) -> Chosen:
    """Each candidate as recorded, and with each change."""
    both = [
        replace(candidate, name=f"{candidate.name} {change}" if change else candidate.name, change=change)
        for candidate in chosen.candidates
        for change in ("", *changes)
    ]
    return replace(chosen, candidates=both)


def _plain(allocator: Allocator) -> Candidate:
    return Candidate(allocator.name, allocator.version, allocator.path)


def _with_own_names(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Makes names unique, as results are kept by name."""
    seen: dict[str, int] = {}
    named = []
    for candidate in candidates:
        seen[candidate.name] = seen.get(candidate.name, 0) + 1
        number = seen[candidate.name]
        named.append(candidate if number == 1 else replace(candidate, name=f"{candidate.name} ({number})"))
    return named


def _recorded(shelf: Shelf, metadata: Metadata, on: Sequence[str], notes: list[str]) -> Candidate | None:
    """The allocator that the recording ran on, with its settings; None if it is not installed.

    Recordings are untrusted: a library named only by one is not loaded, and settings that name files are
    not set.
    """
    given = metadata.condition_values
    variables = {name: value for name, value in given.items() if settings.is_of_allocators(name)}
    for name in [name for name, value in variables.items() if "/" in value]:
        notes.append(f"{name}={variables.pop(name)} names a file and is not set here")
    name, path = _name_and_path(metadata.allocator)
    try:
        if is_c_library(metadata.allocator):
            base = shelf.choose([REFERENCE])[0]
            version = name.partition(" ")[2] or base.version
        elif path and Path(path).is_file():
            base = _trusted(shelf, path, on)
            version = name.partition(" ")[2] or base.version
        else:
            notes.append(
                f"recorded on {metadata.allocator or 'an unknown allocator'}, which is not installed"
            )
            return None
    except MeasureError as error:
        notes.append(f"recorded on {metadata.allocator}, which a replay cannot use: {error}")
        return None
    if version and base.version and version != base.version:
        notes.append(f"recorded on {name}; installed is {base.version}")
    settings_words = ",".join(f"{variable}={value}" for variable, value in variables.items())
    return Candidate(f"{base.name} {settings_words}".strip(), base.version, base.path, variables)


def _name_and_path(allocator: str) -> tuple[str, str]:
    """The version in a recording's allocator name; a cut recording has only the path."""
    found = re.fullmatch(r"(.*?)(?: \((/.*)\))?", allocator)
    name, path = (found[1], found[2] or "") if found else ("", "")
    return ("", name) if name.startswith("/") else (name, path)


def is_c_library(allocator: str) -> bool:
    """Whether this is the allocator that a recording names."""
    name, path = _name_and_path(allocator)
    return name.startswith(REFERENCE) or (not name and Path(path).name == C_LIBRARY)


def _trusted(shelf: Shelf, path: str, on: Sequence[str]) -> Allocator:
    """The library at the path that the recording names: an installed one, or one that the user names."""
    resolved = str(Path(path).resolve())
    known = next((name for name, file in shelf.files().items() if file == resolved), "")
    if not known and resolved not in [str(Path(name).resolve()) for name in on if "/" in name]:
        raise MeasureError(
            f"{path} is not loaded just because a recording names it; --on {shlex.quote(path)} loads it"
        )
    return shelf.choose([known or path])[0]
