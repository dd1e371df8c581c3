# SPDX-License-Identifier: MIT
"""How a file is compiled: the arguments for libclang, and where they come from."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

SOURCE_ENDINGS = (".c", ".cc", ".cpp", ".cxx", ".c++", ".C")
HEADER_ENDINGS = (".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp")
_TAKES_ONE = ("-o", "-MF", "-MT", "-MQ", "--serialize-diagnostics", "-dumpdir")
_DROPPED = re.compile(
    r"-c$|-M[DMPG]*$|-W(?!p,)|-pipe$|-g|-O|-fno-fat-lto|-flto|-fsanitize|-fprofile|-fcoverage|--coverage"
    r"|-Werror|-fmodules-ts|-fmodule-mapper|-fdeps|-fconcepts|-mno-direct|-fno-semantic|-fdiagnostics|-save-temps"
)
_CLANG_ROOTS = ("/usr/lib", "/usr/local/lib", "/opt/llvm/lib")
_LIBCLANG = 18
_MOST_FOLDERS = 60  # with headers, searched if there is no compile_commands.json


class CompileError(Exception):
    """An error in compile_commands.json, in one line."""


class Unit(NamedTuple):
    """Input of libclang: the compiled file and its arguments."""

    file: str
    arguments: tuple[str, ...]
    folder: str


class Database:
    """compile_commands.json, or a substitute if there is none."""

    def __init__(self, units: dict[str, Unit], path: str, guess: tuple[str, ...], folder: Path) -> None:
        """path: of the file; "" = none. guess: arguments for files that it does not list."""
        self.units = units
        self.path = path
        self.guess = guess
        self._folder = folder
        self._includes: dict[str, set[str]] | None = None

    def unit_of(self, file: str, near: Iterable[str] = ()) -> Unit:
        """The unit to parse for this file: its own, or for a header one that includes it. near: likely
        includers, best first."""
        if file in self.units:
            return self.units[file]
        if file.endswith(SOURCE_ENDINGS):
            return Unit(file, self._arguments_near(file), str(self._folder))
        for other in (*near, *self._includers(file)):
            if other in self.units:
                return self.units[other]
        for other in near:
            if other.endswith(SOURCE_ENDINGS):
                return Unit(other, self._arguments_near(other), str(self._folder))
        return Unit(file, ("-x", "c++", *self._arguments_near(file)), str(self._folder))

    def _arguments_near(self, file: str) -> tuple[str, ...]:
        """The arguments of the unit of the same language with the most similar path."""
        is_c = file.endswith(".c")
        alike = [unit for unit in self.units.values() if unit.file.endswith(".c") == is_c]
        if not self.units:
            guess = [word for word in self.guess if not (is_c and word.startswith("-std="))]
            return (*guess, f"-I{Path(file).parent}")
        parts = Path(file).parts

        def common(unit: Unit) -> int:
            pairs = zip(parts, Path(unit.file).parts, strict=False)
            return next((depth for depth, (a, b) in enumerate(pairs) if a != b), len(parts))

        near = max(alike or self.units.values(), key=common).arguments
        # Arguments for one language are wrong for the other.
        return near if alike else tuple(word for word in near if not word.startswith(("-std=", "-x")))

    def _includers(self, header: str) -> list[str]:
        """Units that name the header, those with its name first."""
        if self._includes is None:
            self._includes = {file: included(file) for file in self.units}
        name, stem = Path(header).name, Path(header).stem
        found = [file for file, names in self._includes.items() if name in names]
        return sorted(found, key=lambda file: (Path(file).stem != stem, file))


def included(file: str) -> set[str]:
    """The names of the headers it includes, without folders."""
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return set()
    return {Path(name).name for name in re.findall(r'#\s*include\s*[<"]([^>"]+)[>"]', text)}


def open_database(given: Path | None, folder: Path) -> Database:
    """The given one (a file or its folder), otherwise one in the sources or a folder build* there, otherwise
    a guess."""
    if given is not None:
        path = given / "compile_commands.json" if given.is_dir() else given
        return Database(_read(path), str(path), (), folder)
    for path in (folder / "compile_commands.json", *sorted(folder.glob("*build*/compile_commands.json"))):
        if path.is_file():
            return Database(_read(path), str(path), (), folder)
    return Database({}, "", ("-std=c++20", *_header_folders(folder)), folder)


def _header_folders(folder: Path) -> list[str]:
    """-I for likely folders: the root, src, and each one called include."""
    found = [folder, *(one for one in (folder / "src",) if one.is_dir())]
    found += sorted(path for path in folder.glob("**/include") if path.is_dir())[:_MOST_FOLDERS]
    return [f"-I{path}" for path in found]


def _read(path: Path) -> dict[str, Unit]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        found = [_unit(entry) for entry in entries]
    except OSError as error:
        raise CompileError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CompileError(
            f"{path} is not a compile_commands.json; cmake writes one with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
        ) from None
    return {unit.file: unit for unit in found}


def _unit(entry: dict[str, object]) -> Unit:
    folder = str(entry["directory"])
    file = str((Path(folder) / str(entry["file"])).resolve())
    given = entry.get("arguments")
    words = [str(word) for word in given] if isinstance(given, list) else shlex.split(str(entry["command"]))
    return Unit(file, tuple(_kept(words[1:], folder, str(entry["file"]))), folder)


def _kept(words: Sequence[str], folder: str, file: str) -> list[str]:
    """Arguments without output, warnings, optimisation and options specific to the build's compiler."""
    kept: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word in _TAKES_ONE:
            at += 1
        elif word in ("-I", "-isystem", "-iquote", "-include") and at < len(words):
            # Relative to the build folder, which is not the current one.
            value = words[at] if word == "-include" else str(Path(folder) / words[at])
            kept += [word, value]
            at += 1
        elif word.startswith("-I"):
            kept.append(f"-I{Path(folder) / word[2:]}")
        elif word != file and not _DROPPED.match(word) and not word.endswith(SOURCE_ENDINGS):
            kept.append(word)
    return kept


def resource_arguments() -> tuple[tuple[str, ...], str]:
    """Arguments for libclang to find stddef.h and the like, which its package lacks, and their folder. From
    an installed clang, otherwise from clang-tidy's package, otherwise from gcc."""
    roots = [Path(root) for root in _CLANG_ROOTS]
    found = [path for root in (*roots, *_tidy_package()) for path in _clang_headers(root)]
    if found:
        # The nearest to libclang 18; later ones may use builtins unknown to it.
        best = min(found, key=lambda path: abs(int(path.parent.name.split(".")[0]) - _LIBCLANG))
        return ("-resource-dir", str(best.parent)), str(best)
    for compiler in ("gcc", "cc"):
        if shutil.which(compiler):
            asked = [compiler, "-print-file-name=include"]
            answer = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
            if Path(answer).is_dir():
                return ("-isystem", answer), answer
    raise CompileError("no compiler headers (stddef.h) found; install clang, gcc or heapwright[lint]")


def _tidy_package() -> list[Path]:
    """Where clang-tidy's package keeps its parts of clang."""
    spec = find_spec("clang_tidy")
    folders = spec.submodule_search_locations if spec else None
    return [Path(folder) / "data/lib" for folder in folders or ()]


def _clang_headers(root: Path) -> list[Path]:
    found = [*root.glob("llvm-*/lib/clang/*/include"), *root.glob("clang/*/include")]
    return [
        path
        for path in sorted(found)
        if (path / "stddef.h").is_file() and path.parent.name.split(".")[0].isdecimal()
    ]
