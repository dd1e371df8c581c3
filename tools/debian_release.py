# SPDX-License-Identifier: MIT
"""The Debian packages of a release: heapwright, libheapwright1, libheapwright-dev."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Sequence
from email.utils import formatdate
from pathlib import Path

from release_tree import (
    has_later,
    lay_heap,
    lay_help,
    lay_python,
    notes,
    project,
    pythons_of,
    run,
    version,
    when,
)

revision = f"{version}-1"
MAINTAINER = "the heapwright authors <heapwright@localhost.localdomain>"
TRIPLET = "lib/x86_64-linux-gnu"
# What dh_python3 writes: modules are compiled at the installation and go with the package.
POSTINST = """#!/bin/sh
set -e
if command -v py3compile >/dev/null; then
  py3compile -p heapwright /usr/lib/heapwright
fi
"""
PRERM = """#!/bin/sh
set -e
if command -v py3clean >/dev/null; then
  py3clean -p heapwright
else
  find /usr/lib/heapwright -name __pycache__ -prune -exec rm -rf {} +
fi
"""


def make_packages(work: Path, wheels: Sequence[Path], out: Path) -> list[Path]:
    """Of wheels that carry no libraries which all Debian releases name alike."""
    programs, library, headers = (
        work / name for name in ("heapwright", "libheapwright1", "libheapwright-dev")
    )
    lay_python(programs / "usr", wheels)
    lay_help(programs / "usr")
    lay_heap(headers, "/usr", TRIPLET)
    (library / "usr" / TRIPLET).mkdir(parents=True)
    shared = headers / "usr" / TRIPLET / "libheapwright.so.1"
    shared.rename(library / "usr" / TRIPLET / shared.name)
    return [
        _package(programs, out, _pythons(pythons_of(wheels)), {"postinst": POSTINST, "prerm": PRERM}),
        _package(
            library,
            out,
            "",
            {
                "triggers": "activate-noawait ldconfig\n",
                "shlibs": f"libheapwright 1 libheapwright1 (>= {version})\n",
            },
        ),
        _package(headers, out, "", {}),
    ]


def _pythons(versions: list[str]) -> str:
    """Debian's python3 is one of these versions: no other has the compiled module."""
    major, minor = versions[-1].split(".")
    oldest = f"python3 (>= {versions[0]})"
    return oldest if has_later(versions) else f"{oldest}, python3 (<< {major}.{int(minor) + 1})"


def _package(root: Path, out: Path, pythons: str, scripts: dict[str, str]) -> Path:
    name = root.name
    binaries = _binaries(root)
    if binaries:
        run("strip", "--strip-unneeded", "--remove-section=.comment", *binaries)
    _lay_documents(root / "usr/share/doc" / name, name)
    overrides = project / f"packaging/debian/{name}.lintian-overrides"
    if overrides.exists():
        place = root / "usr/share/lintian/overrides" / name
        place.parent.mkdir(parents=True)
        shutil.copy(overrides, place)
    _set_modes(root)
    control = root / "DEBIAN"
    control.mkdir()
    control.chmod(0o755)
    for file, text in scripts.items():
        (control / file).write_text(text, encoding="utf-8")
        (control / file).chmod(0o755 if text.startswith("#!") else 0o644)
    files = sorted(path for path in (root / "usr").rglob("*") if path.is_file() and not path.is_symlink())
    sums = run("md5sum", *(path.relative_to(root) for path in files), cwd=root)
    (control / "md5sums").write_text(sums, encoding="utf-8")
    size_kib = sum(path.stat().st_size for path in files) // 1024 + 1
    (control / "control").write_text(_control(root, pythons, size_kib), encoding="utf-8")
    made = out / f"{name}_{revision}_amd64.deb"
    epoch = f"SOURCE_DATE_EPOCH={when()}"
    run("env", epoch, "dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, made)
    return made


def _control(root: Path, pythons: str, size_kib: int) -> str:
    text = (project / f"packaging/debian/control.{root.name}").read_text(encoding="utf-8")
    text = text.replace("@SHLIBS@", _libraries(root) if "@SHLIBS@" in text else "")
    text = text.replace("@PYTHONS@", pythons).replace("@VERSION@", revision)
    first, rest = text.split("\n", 1)
    common = f"Source: heapwright\nVersion: {revision}\nArchitecture: amd64\nMaintainer: {MAINTAINER}\n"
    return f"{first}\n{common}Installed-Size: {size_kib}\nPriority: optional\n{rest}"


def _libraries(root: Path) -> str:
    """The packages whose libraries the programs link, with the versions that have the symbols used."""
    work = root.parent / f"{root.name}.shlibs"
    (work / "debian").mkdir(parents=True)
    (work / "debian/control").write_text(f"Source: heapwright\n\nPackage: {root.name}\nArchitecture: any\n")
    said = run(
        "dpkg-shlibdeps", "-O", "--ignore-missing-info", *(f"-e{path}" for path in _binaries(root)), cwd=work
    )
    found = re.search(r"^shlibs:Depends=(.*)$", said, re.MULTILINE)
    return found[1] if found else "libc6"


def _binaries(root: Path) -> list[Path]:
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if path.read_bytes()[:4] == b"\x7fELF"]


def _lay_documents(folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    shutil.copy(project / "packaging/debian/copyright", folder / "copyright")
    if name != "libheapwright-dev":
        shutil.copy(project / "README.md", folder / "README.md")
    date = formatdate(when(), localtime=False).replace("-0000", "+0000")
    entry = (
        f"heapwright ({revision}) unstable; urgency=medium\n\n  * Version {version}; see changelog.gz.\n\n"
    )
    debian = f"{entry} -- {MAINTAINER}  {date}\n"
    for file, text in (("changelog.Debian.gz", debian), ("changelog.gz", notes())):
        (folder / file).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def _set_modes(root: Path) -> None:
    for path in [root, *root.rglob("*")]:
        if path.is_symlink():
            continue
        is_program = path.is_dir() or (path.stat().st_mode & 0o100 and ".so" not in path.name)
        path.chmod(0o755 if is_program else 0o644)
