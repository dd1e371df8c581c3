# SPDX-License-Identifier: MIT
"""What `make release` makes, of the build that is here: unpacked elsewhere, it records and explains."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from conftest import command, project

pytestmark = pytest.mark.full
SITE = command.parent.parent / f"lib/python3.{sys.version_info[1]}/site-packages"


def run(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEAPWRIGHT_")}
    return subprocess.run(
        [str(word) for word in words],
        env={**environment, **variables},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )


def wheel_of_this_build(folder: Path) -> Path:
    """As `make wheel` has it, but not stripped, of the editable installation."""
    [metadata] = SITE.glob("heapwright-*.dist-info")
    tag = f"cp3{sys.version_info[1]}"
    wheel = folder / f"{metadata.name.removesuffix('.dist-info')}-{tag}-{tag}-linux_x86_64.whl"
    left_out = {"RECORD", "direct_url.json", "INSTALLER", "REQUESTED"}
    roots = {
        SITE / "heapwright": "heapwright",
        project / "python/heapwright": "heapwright",
        metadata: metadata.name,
    }
    with ZipFile(wheel, "w") as archive:
        for file, root in [(file, of) for of in roots for file in of.rglob("*")]:
            if file.is_file() and "__pycache__" not in file.parts and file.name not in left_out:
                archive.write(file, f"{roots[root]}/{file.relative_to(root)}")
        archive.writestr(f"{metadata.name}/RECORD", "")
    return wheel


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("dpkg-deb"):
        pytest.skip("needs dpkg-deb")
    folder = tmp_path_factory.mktemp("release")
    wheel = wheel_of_this_build(folder)
    made = run(
        sys.executable, project / "tools/make_release.py", "--out", folder / "dist", "--wheels", wheel,
        "--debian-wheels", wheel,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return folder / "dist"


def recorded_and_explained(heapwright: Path, folder: Path) -> str:
    """`run` of a program by this command, which sees nothing of the clone."""
    said = run(heapwright, "run", "--output", folder / "true.heapwright", "--", "/bin/true")
    assert said.returncode == 0, said.stderr
    assert "complete: every call is in the trace" in said.stdout
    return said.stdout


def test_the_sums_are_those_of_the_files(release: Path) -> None:
    lines = (release / "SHA256SUMS").read_text().splitlines()
    named = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert set(named) == {file.name for file in release.iterdir()} - {"SHA256SUMS"}
    for name, digest in named.items():
        assert hashlib.sha256((release / name).read_bytes()).hexdigest() == digest


def test_a_moved_tarball_works(release: Path, tmp_path: Path) -> None:
    [archive] = release.glob("*.tar.gz")
    assert run("tar", "-C", tmp_path, "-xzf", archive).returncode == 0
    [unpacked] = tmp_path.iterdir()
    moved = unpacked.rename(tmp_path / "elsewhere")
    recorded_and_explained(moved / "bin/heapwright", tmp_path)
    link = tmp_path / "heapwright"
    link.symlink_to(moved / "bin/heapwright")
    assert run(link, "--version").stdout.startswith("heapwright ")
    changes = (moved / "CHANGES.md").read_text()
    assert changes.startswith("# heapwright ") and "\n## " not in changes
    assert (moved / "lib/libheapwright.so.1").is_file() and (moved / "include/heapwright/arena.hpp").is_file()


def test_another_python_is_one_line(release: Path, tmp_path: Path) -> None:
    [archive] = release.glob("*.tar.gz")
    assert run("tar", "-C", tmp_path, "-xzf", archive).returncode == 0
    [launcher] = tmp_path.glob("*/bin/heapwright")
    shutil.rmtree(
        launcher.parents[1] / "lib/heapwright-python", ignore_errors=True
    )  # where it could be built
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "dirname", "readlink", "sed"):
        (programs / name).symlink_to(Path(shutil.which(name) or name).resolve())
    said = run(launcher, "--version", PATH=str(programs))
    assert said.returncode == 2
    assert said.stderr.startswith("heapwright: needs Python 3.")
    assert "found none" in said.stderr and len(said.stderr.splitlines()) == 1
    (programs / "python3").write_text("#!/bin/sh\necho 3.2\n")
    (programs / "python3").chmod(0o755)
    assert "found 3.2" in run(launcher, "--version", PATH=str(programs)).stderr


def test_debian_packages_hold_command_manual_and_library(release: Path, tmp_path: Path) -> None:
    for package in release.glob("*.deb"):
        assert run("dpkg-deb", "--extract", package, tmp_path).returncode == 0
    recorded_and_explained(tmp_path / "usr/bin/heapwright", tmp_path)
    pages = {page.name for page in (tmp_path / "usr/share/man/man1").iterdir()}
    assert {"heapwright.1.gz", "heapwright-record.1.gz", "heapwright-explain.1.gz"} <= pages
    page = gzip.decompress((tmp_path / "usr/share/man/man1/heapwright-serve.1.gz").read_bytes()).decode()
    assert "Grafana" in page and "\\[" not in page
    library = tmp_path / "usr/lib/x86_64-linux-gnu"
    assert (library / "libheapwright.so").resolve() == (library / "libheapwright.so.1").resolve()
    maps = run("cat", "/proc/self/maps", LD_PRELOAD=str(library / "libheapwright.so.1"))
    assert "libheapwright.so.1" in maps.stdout
    [package] = release.glob("libheapwright-dev_*.deb")
    depends = run("dpkg-deb", "--field", package, "Depends").stdout
    assert depends.startswith("libheapwright1 (= ")
