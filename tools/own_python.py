#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes build/own-python: the Python that the tarball brings along, for systems whose own is older than ours.

Of Debian's source packages (python3.11, zlib, libffi), with Debian's fixes, as apt has them. zig's compiler
builds them for glibc 2.17, as its headers hide from `configure` what later libraries have. All modules are
inside the program; those that nothing here uses are left out. Prints the folder. Exit code 2: it cannot be
made here.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from release_tree import ReleaseError, project, run
from run_trixie import CannotBeMadeError, mirror

folder = project / "build/own-python"
VERSION = "3.11"
SOURCES = (f"python{VERSION}", "zlib", "libffi")
RELEASE = "bookworm"
COMPILER = "ziglang==0.17.1"
TARGET = "x86_64-linux-gnu.2.17"
# __DATE__ in Python's build information, and a sanitizer that zig adds.
FLAGS = "-Wno-date-time -fno-sanitize=undefined"
# Of the standard library: tests, windows, what installs packages, and for what no module is built.
LEFT_OUT = (
    *(
        "config-*",
        "curses",
        "dbm",
        "distutils",
        "ensurepip",
        "idlelib",
        "lib-dynload",
        "lib2to3",
        "pydoc_data",
    ),
    *("sqlite3", "test", "tkinter", "turtle.py", "turtledemo", "venv", "__pycache__"),
)
# _ctypes is not in the list of modules that Python's build can have inside.
CTYPES = (
    "_ctypes _ctypes/_ctypes.c _ctypes/callbacks.c _ctypes/callproc.c _ctypes/stgdict.c _ctypes/cfield.c"
    " -I{libraries}/include -L{libraries}/lib -lffi"
    " -DHAVE_FFI_PREP_CIF_VAR -DHAVE_FFI_PREP_CLOSURE_LOC -DHAVE_FFI_CLOSURE_ALLOC"
)


def unpack(work: Path) -> dict[str, Path]:
    """Name -> folder, of Debian's sources with its patches; apt verifies their signatures."""
    lists = work / "lists"
    (lists / "partial").mkdir(parents=True)
    address, keys = mirror(), "/usr/share/keyrings/debian-archive-keyring.gpg"
    suites = [(address, RELEASE), (address, f"{RELEASE}-updates")]
    sources = [f"deb-src [signed-by={keys}] {of} {suite} main\n" for of, suite in suites]
    (work / "sources.list").write_text("".join(sources), encoding="utf-8")
    apt = ["apt-get", "-qq", "-o", f"Dir::Etc::sourcelist={work}/sources.list"]
    apt += ["-o", "Dir::Etc::sourceparts=/dev/null", "-o", f"Dir::State::lists={lists}"]
    apt += ["-o", "APT::Sandbox::User=root"]
    run(*apt, "update")
    run(*apt, "source", "--download-only", *SOURCES, cwd=work)
    for name in SOURCES:
        [described] = work.glob(f"{name}_*.dsc")
        run("dpkg-source", "--no-check", "-x", described, work / name)
    return {name: work / name for name in SOURCES}


def make_compiler(work: Path) -> dict[str, str]:
    """Its variables for configure and make."""
    venv.create(work / "zig", with_pip=True)
    python = work / "zig/bin/python"
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", COMPILER)
    named = {"CC": f"cc -target {TARGET} {FLAGS}", "AR": "ar", "RANLIB": "ranlib"}
    variables = {}
    for variable, words in named.items():
        program = work / f"zig-{variable.lower()}"
        program.write_text(f'#!/bin/sh\nexec {python} -m ziglang {words} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        variables[variable] = str(program)
    return variables


def build_in(place: Path, variables: dict[str, str], *commands: list[str]) -> None:
    for command in commands:
        run("env", *(f"{name}={value}" for name, value in variables.items()), *command, cwd=place)


def build(work: Path, jobs: int) -> Path:
    """The program, which finds its library by its own place."""
    sources, variables = unpack(work), make_compiler(work)
    libraries, make = work / "libraries", ["make", f"-j{jobs}"]
    build_in(
        sources["zlib"], variables, ["./configure", "--static", f"--prefix={libraries}"], [*make, "install"]
    )
    options = ["--disable-shared", "--with-pic", "--disable-docs", "--disable-exec-static-tramp"]
    options += ["--disable-multi-os-directory", f"--prefix={libraries}"]
    build_in(sources["libffi"], variables, ["./configure", *options], [*make, "install"])
    variables |= {
        "CPPFLAGS": f"-I{libraries}/include",
        "LDFLAGS": f"-L{libraries}/lib",
        "PKG_CONFIG_LIBDIR": f"{libraries}/lib/pkgconfig",
        "MODULE_BUILDTYPE": "static",
    }
    source, place = sources[SOURCES[0]], work / "python"
    place.mkdir()
    options = ["--without-ensurepip", "--disable-test-modules", "--without-readline", "--with-dbmliborder="]
    options += ["OPT=-DNDEBUG -O2 -fwrapv"]
    build_in(place, variables, [str(source / "configure"), *options])
    given = (place / "Modules/Setup.stdlib").read_text(encoding="utf-8")
    chosen = "".join(line for line in given.splitlines(keepends=True) if not line.startswith("xxlimited"))
    own = f"{chosen}*static*\n{CTYPES.format(libraries=libraries)}\n"
    (place / "Modules/Setup.local").write_text(own, encoding="utf-8")
    build_in(place, variables, [*make, "python"])
    return place / "python"


def lay(program: Path, source: Path, root: Path) -> None:
    (root / "bin").mkdir(parents=True)
    own = root / f"bin/python{VERSION}"
    run("strip", "--strip-unneeded", "--remove-section=.comment", program, "-o", own)
    library = root / f"lib/python{VERSION}"
    shutil.copytree(source / "Lib", library, ignore=shutil.ignore_patterns(*LEFT_OUT))
    # Python looks for this folder to find its other modules; all are inside the program.
    (library / "lib-dynload").mkdir()
    (library / "lib-dynload/README").write_text("All modules are inside the program.\n", encoding="utf-8")
    run(own, "-E", "-s", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", library)
    shutil.copy(source / "LICENSE", root / "LICENSE")


def check(root: Path) -> None:
    """What heapwright imports of the standard library is there."""
    names = set()
    for file in (project / "python").rglob("*.py"):
        names |= set(re.findall(r"^\s*(?:import|from) (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE))
    wanted = sorted(names & sys.stdlib_module_names)
    with tempfile.TemporaryDirectory() as elsewhere:
        run(
            root / f"bin/python{VERSION}",
            "-E",
            "-s",
            "-c",
            f"import {', '.join(wanted)}",
            cwd=Path(elsewhere),
        )
    run(sys.executable, project / "tools/check_versions.py", root / "bin")


def make(jobs: int) -> Path:
    if folder.is_dir():
        return folder
    if shutil.which("apt-get") is None or shutil.which("dpkg-source") is None:
        raise ReleaseError("needs apt-get and dpkg-source, of a Debian machine")
    made = folder.with_suffix(".new")
    shutil.rmtree(made, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="own-python-") as work:
        program = build(Path(work), jobs)
        lay(program, Path(work) / SOURCES[0], made)
    check(made)
    made.rename(folder)
    return folder


def main() -> int:
    try:
        print(make(os.cpu_count() or 1))
    except (ReleaseError, CannotBeMadeError, subprocess.TimeoutExpired) as error:
        print(f"own python: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
