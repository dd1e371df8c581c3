# SPDX-License-Identifier: MIT
"""What make_release.py lays out: one tree, for the tarball and for Debian."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

project = Path(__file__).resolve().parent.parent
version: str = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
# Where bash, zsh and fish look below a prefix.
COMPLETIONS = {
    "bash": "share/bash-completion/completions/heapwright",
    "zsh": "share/zsh/vendor-completions/_heapwright",
    "fish": "share/fish/vendor_completions.d/heapwright.fish",
}
# Those that a module for the stable ABI is looked for first; nanobind needs 3.12.
LATER_PYTHONS = ["3.12", "3.13", "3.14"]
RUN = "import sys\n\nfrom heapwright.__main__ import main\n\nsys.exit(main())\n"


class ReleaseError(Exception):
    """One line for the user."""


def run(*command: object, cwd: Path | None = None) -> str:
    words = [str(word) for word in command]
    ended = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise ReleaseError(f"{' '.join(words)[:200]}: {(ended.stderr or ended.stdout).strip()[-600:]}")
    return ended.stdout


def when() -> int:
    """Seconds since the epoch of the commit that is released, so that the same tree gives the same files."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct", cwd=project))


def pythons_of(wheels: Sequence[Path]) -> list[str]:
    """The versions that one of them has a compiled module for; after LATER_PYTHONS, all that come as well."""
    found = []
    for wheel in wheels:
        tag = re.search(r"-cp(\d)(\d+)-(abi3)?", wheel.name)
        if not tag:
            raise ReleaseError(f"{wheel.name} names no version of Python")
        found += LATER_PYTHONS if tag[3] else [f"{tag[1]}.{tag[2]}"]
    return found


def has_later(pythons: Sequence[str]) -> bool:
    return pythons[-1] == LATER_PYTHONS[-1]


def lay_python(prefix: Path, wheels: Sequence[Path]) -> None:
    """bin/heapwright, and lib/heapwright: the first wheel, what it needs, and the modules of the others."""
    library = prefix / "lib/heapwright"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
    ]
    run(*install, "--only-binary", ":all:", "--target", library, wheels[0])
    for other in wheels[1:]:
        with ZipFile(other) as archive:
            [module] = [
                file for file in archive.namelist() if re.fullmatch(r"heapwright/_native\..*so", file)
            ]
            (library / archive.extract(module, library)).chmod(0o755)
    shutil.rmtree(library / "bin", ignore_errors=True)
    for left in (
        "direct_url.json",
        "INSTALLER",
        "RECORD",
        "REQUESTED",
    ):  # of this installation; RECORD names bin/
        for file in library.glob(f"*.dist-info/{left}"):
            file.unlink()
    (library / "run.py").write_text(RUN, encoding="utf-8")
    lay_launcher(prefix, pythons_of(wheels))


def lay_launcher(prefix: Path, pythons: Sequence[str]) -> None:
    launcher = prefix / "bin/heapwright"
    launcher.parent.mkdir(parents=True)
    text = (project / "packaging/heapwright.sh").read_text(encoding="utf-8")
    text = text.replace("@VERSIONS@", f'"{" ".join(pythons)}"')
    text = text.replace("@OR_LATER@", has_later(pythons) * '" or later"')
    launcher.write_text(text, encoding="utf-8")
    launcher.chmod(0o755)


def lay_help(prefix: Path) -> None:
    """Man pages and completion, both from the command line itself."""
    import typer
    from click_man.core import write_man_pages
    from heapwright.cli.command_line import COMMANDS, make_app

    pages = prefix / "share/man/man1"
    pages.mkdir(parents=True)
    command = typer.main.get_command(make_app(COMMANDS))
    for one in [command, *getattr(command, "commands", {}).values()]:
        one.short_help = " ".join((one.help or "").split("\n\n")[0].split()).rstrip(
            "."
        )  # click-man cuts it at 45 letters
    day = run("date", "-u", "-d", f"@{when()}", "+%Y-%m-%d").strip()
    write_man_pages("heapwright", command, version=version, target_dir=str(pages), date=day)
    for page in pages.glob("*.1"):
        text = page.read_text(encoding="utf-8").replace("\\[", "[")  # typer's escapes, which are not roff's
        page.with_suffix(".1.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        page.unlink()
    for shell, place in COMPLETIONS.items():
        path = prefix / place
        path.parent.mkdir(parents=True)
        script = run(Path(sys.executable).parent / "heapwright", "--completion", shell)
        path.write_text(script, encoding="utf-8")


def lay_heap(destination: Path, prefix: str, library_folder: str, older: Path | None = None) -> None:
    """The heap's library, headers and CMake package, as `cmake --install` lays them out below destination.

    It is linked against an older system, if there is one (tools/older_system.py).
    """
    build = project / "build/heap-only"
    options = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DHEAPWRIGHT_HEAP_ONLY=ON", "-DHEAPWRIGHT_TESTS=OFF"]
    options += [f"-DCMAKE_INSTALL_LIBDIR={library_folder}", f"-DHEAPWRIGHT_OLDER_SYSTEM={older or ''}"]
    run("cmake", "-S", project, "-B", build, "-G", "Ninja", *options)
    run("cmake", "--build", build, "--", "--quiet")
    place = f"DESTDIR={destination}"
    run("env", place, "cmake", "--install", build, "--prefix", prefix)
    for file in destination.glob(f"**/{library_folder}/libheapwright*"):
        if not file.is_symlink():
            run("strip", "--strip-unneeded" if ".so" in file.name else "--strip-debug", file)


def notes() -> str:
    """The changelog's section of this version."""
    text = (project / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(version)}\b.*?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if not found:
        raise ReleaseError(f"CHANGELOG.md has no section {version}")
    return f"# heapwright {version}\n\n{found[1].strip()}\n"
