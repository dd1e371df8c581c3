#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that binaries start on systems as old as stated: which symbols they want, of which versions.

Takes files, folders and wheels; names each symbol that needs a later C library than --at-most, or a later
compiler's library than gcc 8's.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from zipfile import ZipFile

# The compiler's libraries are those of gcc 8 (RHEL 8, Debian 10); the C library is RHEL 7's.
LIMITS = {"GLIBC": "2.17", "GLIBCXX": "3.4.25", "CXXABI": "1.3.11", "GCC": "7.0.0"}
WANTED = re.compile(r"\bUND\s+(\S+?)@+(\S+)")
NEEDED = re.compile(r"Name: (\S+)\s+Flags:")
FAMILY = re.compile(r"^(GLIBC|GLIBCXX|CXXABI|GCC)_(.+)$")


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def is_too_new(name: str) -> bool:
    found = FAMILY.match(name)
    if not found:
        return False
    family, version = found.groups()
    # GLIBC_ABI_DT_RELR and GLIBC_PRIVATE are no numbers: the one is of 2.36, the other of one release only.
    return not re.fullmatch(r"[0-9.]+", version) or number(version) > number(LIMITS[family])


def run_readelf(file: Path, option: str) -> str:
    command = ["readelf", "-W", option, str(file)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def wanted(file: Path) -> dict[str, list[str]]:
    """Versions that a file needs, each with the symbols that it is needed for."""
    found: dict[str, list[str]] = defaultdict(list)
    for version in NEEDED.findall(run_readelf(file, "--version-info")):
        found.setdefault(version, [])
    for symbol, version in WANTED.findall(run_readelf(file, "--dyn-syms")):
        found[version].append(symbol)
    return {version: sorted(symbols) for version, symbols in found.items() if FAMILY.match(version)}


def newest(versions: Sequence[str], family: str) -> str:
    numbers = [name.partition("_")[2] for name in versions if name.partition("_")[0] == family]
    numbers = [one for one in numbers if re.fullmatch(r"[0-9.]+", one)]
    return max(numbers, key=number, default="")


def binaries(place: Path) -> Iterator[Path]:
    files = sorted(place.rglob("*")) if place.is_dir() else [place]
    for file in files:
        if file.is_file() and not file.is_symlink() and file.read_bytes()[:4] == b"\x7fELF":
            yield file


def check(place: Path, says_all: bool) -> tuple[int, int]:
    """Of a file or folder: how many binaries, and how many problems."""
    seen = problems = 0
    for file in binaries(place):
        seen += 1
        versions = wanted(file)
        name = str(file.relative_to(place)) if place.is_dir() else file.name
        if says_all:
            print(f"{name}: {newest(list(versions), 'GLIBC') or 'no version of a C library'}")
        for version in sorted(filter(is_too_new, versions)):
            problems += 1
            print(f"{name}: needs {version} for {', '.join(versions[version]) or 'its format'}")
    return seen, problems


def check_given(given: Path, says_all: bool) -> tuple[int, int]:
    if given.suffix != ".whl":
        return check(given, says_all)
    with tempfile.TemporaryDirectory() as folder, ZipFile(given) as archive:
        archive.extractall(folder)
        return check(Path(folder), says_all)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("given", nargs="+", type=Path, metavar="FILE", help="a binary, a folder or a wheel")
    parser.add_argument("--at-most", default=LIMITS["GLIBC"], metavar="VERSION", help="of the C library")
    parser.add_argument("--list", action="store_true", help="also say what each needs")
    chosen = parser.parse_args()
    LIMITS["GLIBC"] = chosen.at_most
    seen = problems = 0
    for given in chosen.given:
        if not given.exists():
            print(f"{given}: no such file; build it first")
            return 2
        found = check_given(given, chosen.list)
        seen, problems = seen + found[0], problems + found[1]
    if not seen:
        print("versions: no binary in what was given")
        return 2
    print(f"versions: {seen} binaries, glibc {chosen.at_most} at most, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
