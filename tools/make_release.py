#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a release of this tree in dist/: wheel, Debian packages, tarball, container recipe, notes, sums.

tools/build_wheel.sh has built the wheel; this lays it out in the other forms. tools/try_release.py
installs each.
"""

import argparse
import gzip
import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

import older_system
import own_python
from debian_release import make_packages
from release_tree import ReleaseError, lay_heap, lay_help, lay_python, notes, project, run, version, when

LARGEST_WHEEL_BYTES = 6 << 20


def newest(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime)
    if not found:
        raise ReleaseError(f"{folder} has no {pattern}; run `make wheel`")
    return found[-1]


def wheels_of(folder: Path) -> list[Path]:
    """The newest for each kind of Python, those for one version first."""
    return [newest(folder, f"heapwright-{version}-{tag}-*.whl") for tag in ("cp311-cp311", "cp312-abi3")]


def make_tarball(work: Path, wheels: list[Path], out: Path) -> Path:
    """A folder that works wherever it is unpacked."""
    name = f"heapwright-{version}-linux-x86_64"
    tree = work / name
    lay_python(tree, wheels)
    lay_help(tree)
    if own_python.folder.is_dir():
        shutil.copytree(own_python.folder, tree / "lib/heapwright-python", symlinks=True)
    older = older_system.folder if older_system.folder.is_dir() else None
    lay_heap(work / "heap", "/heap", "lib", older)
    shutil.copytree(work / "heap/heap", tree, symlinks=True, dirs_exist_ok=True)
    for file in ("README.md", "LICENSE"):
        shutil.copy(project / file, tree)
    (tree / "CHANGES.md").write_text(notes(), encoding="utf-8")
    made = out / f"{name}.tar.gz"
    order = ["--sort=name", f"--mtime=@{when()}", "--owner=0", "--group=0", "--numeric-owner"]
    plain = work / "plain.tar"
    run("tar", "-C", work, *order, "-cf", plain, name)
    made.write_bytes(gzip.compress(plain.read_bytes(), 9, mtime=0))
    return made


def make(out: Path, wheels: list[Path], own: list[Path]) -> list[Path]:
    """Of wheels with all libraries, and of those for systems that have them; for one Python, or later."""
    for wheel in wheels:
        if "manylinux" in wheel.name and wheel.stat().st_size > LARGEST_WHEEL_BYTES:
            raise ReleaseError(
                f"{wheel.name} has {wheel.stat().st_size} bytes, more than {LARGEST_WHEEL_BYTES}"
            )
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        made = [make_tarball(work / "tarball", wheels, out), *make_packages(work / "debian", own, out)]
    recipe = out / "Containerfile"
    shutil.copy(project / "packaging/container/Containerfile", recipe)
    text = out / f"CHANGES-{version}.md"
    text.write_text(notes(), encoding="utf-8")
    laid = [wheel if wheel.parent == out else Path(shutil.copy(wheel, out)) for wheel in wheels]
    files = sorted([*laid, *made, recipe, text])
    sums = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    (out / "SHA256SUMS").write_text(sums, encoding="utf-8")
    return [*files, out / "SHA256SUMS"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=project / "dist")
    parser.add_argument("--wheels", nargs="+", type=Path, help="with all libraries; else the newest in dist/")
    parser.add_argument(
        "--debian-wheels", nargs="+", type=Path, help="without; else the newest in build/wheels/debian"
    )
    chosen = parser.parse_args()
    try:
        wheels = chosen.wheels or wheels_of(project / "dist")
        own = chosen.debian_wheels or wheels_of(project / "build/wheels/debian")
        made = make(
            chosen.out.resolve(), [file.resolve() for file in wheels], [file.resolve() for file in own]
        )
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 2
    for file in made:
        print(f"{file.stat().st_size:>10,} bytes  {file.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
