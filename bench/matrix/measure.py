#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What works on which system, C library and allocator: each cell is a run of bench/matrix/program.c.

The program knows what it calls, and each cell is "yes" only if the figures are right: all 20,100 blocks of
one function, with whole stacks to main, the 8 MiB that it maps, the kernel's records, the 100 blocks that it
makes while it is attached to. What a machine has not, such as musl or an allocator, is left out and named.
Chroots of other releases are made in build/roots by mmdebstrap, which needs root, and kept. The figures go to
OUTPUT/matrix.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path += [str(project / "bench"), str(project / "tools")]
import sources  # noqa: E402
from run_trixie import mirror  # noqa: E402

COMMAND = str(Path(sys.executable).parent / "heapwright")
BLOCKS, MORE, MAPPED = 20_000, 100, 8 << 20
LIMIT_S = 120
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
PRELOADED = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}
LINKED = {
    ("static", "glibc"): ["gcc", "-static"],
    ("static-pie", "glibc"): ["gcc", "-static-pie"],
    # As Alpine's compiler links; Debian's wrapper leaves the table of unwind information out.
    ("dynamic", "musl"): ["musl-gcc", "-Wl,--eh-frame-hdr"],
    ("static", "musl"): ["musl-gcc", "-static"],
}


class Target(NamedTuple):
    """One row: a program as it is built and run. root: of another system; None: here."""

    system: str
    libc: str
    linked: str
    allocator: str
    program: str
    root: Path | None = None
    preload: str = ""
    options: tuple[str, ...] = ()  # of record

    def starting(self, before: Sequence[str]) -> list[str]:
        """The command that starts it under another one, with its mounts."""
        if self.root is None:
            return [*before, self.program]
        build = project / "build/release"
        place = shlex.quote(f"{self.root}{build}")
        script = (
            f"mkdir -p {place} && mount --rbind /proc {self.root}/proc && "
            f"mount --rbind /dev {self.root}/dev && mount --bind {shlex.quote(str(build))} {place} && "
            f"exec {shlex.join(before)} chroot {self.root} {self.program}"
        )
        return ["unshare", "--mount", "sh", "-c", script]

    def environment(self) -> dict[str, str]:
        return {**os.environ, **({"LD_PRELOAD": self.preload} if self.preload else {})}


def run(target: Target, before: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        target.starting(before),
        input="x" * MORE,
        capture_output=True,
        text=True,
        env=target.environment(),
        timeout=LIMIT_S,
    )


def explained(path: Path, question: str, root: Path | None = None) -> dict[str, Any]:
    line = [COMMAND, "explain", str(path), "--unchecked", "--json", "--question", question]
    line += ["--debug-root", str(root)] if root is not None else []
    document: dict[str, Any] = json.loads(
        subprocess.run(line, capture_output=True, check=True, timeout=LIMIT_S).stdout
    )
    return document


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["nothing was said"])[-1]


def blocks_in(path: Path, root: Path | None) -> int:
    sites = explained(path, "calls", root)["questions"]["calls"]["sites"]
    return sum(row["allocations"] for row in sites if row["function"] == "make_block")


def recordings(folder: Path) -> list[Path]:
    """Of the program, not of what starts it."""
    return [path for path in folder.glob("*.heapwright") if "chroot" not in path.name]


def recorded(target: Target, folder: Path) -> tuple[str, Path | None]:
    more = ["--children"] if target.root is not None else []
    before = [COMMAND, "record", "--output", f"{folder}/%e.%p.heapwright", *target.options, *more, "--"]
    done = run(target, before)
    found = recordings(folder)
    if done.returncode != 7 or not done.stdout.endswith(f"{MORE} more\n") or len(found) != 1:
        return last_line(done.stderr), None
    blocks = blocks_in(found[0], target.root)
    return "yes" if blocks == BLOCKS + MORE else f"{blocks:,} of {BLOCKS + MORE:,} blocks", found[0]


def counted(target: Target) -> str:
    done = run(target, [COMMAND, "count", "--json", "--"])
    if done.returncode != 7:
        return last_line(done.stderr)
    document = json.loads(done.stdout.splitlines()[-1])
    if not document["processes"]:
        return str(document["notes"][0])
    made = max(of["made_blocks"] for of in document["processes"])
    return "yes" if made >= BLOCKS + MORE else f"{made:,} of {BLOCKS + MORE:,} blocks"


def attached(target: Target, folder: Path) -> str:
    path = folder / "attached.heapwright"
    with subprocess.Popen(
        target.starting([]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=target.environment(),
    ) as started:
        assert started.stdin is not None and started.stdout is not None
        started.stdout.readline()
        line = [COMMAND, "record", "--pid", str(started.pid), "--output", str(path), "--json"]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as recorder:
            assert recorder.stderr is not None
            said = recorder.stderr.readline()
            started.stdin.write("x" * MORE)
            started.stdin.close()
            ended = started.wait(timeout=LIMIT_S)
            errors = said + recorder.communicate(timeout=LIMIT_S)[1]
    if ended != 7:
        return f"the program ended with {ended}"
    if not path.exists():
        return last_line(said)
    blocks = blocks_in(path, target.root)
    return "yes" if blocks == MORE else f"{blocks} of {MORE} blocks: {last_line(errors)}"


def whole_stacks(path: Path) -> str:
    cut = explained(path, "calls")["summary"]["completeness"]["cut_stacks"]
    return cut[0] if cut else "yes"


def residency(path: Path) -> str:
    answer = explained(path, "residency")["questions"]["residency"]
    if not answer["owners"]:
        return "no scan"
    own = sum(row["anonymous_bytes"] for row in answer["owners"] if row["kind"] == "own mapping")
    return "yes" if own >= MAPPED else "without the program's own mappings"


def kernel_events(path: Path) -> str:
    line = [COMMAND, "info", str(path), "--json"]
    done = subprocess.run(line, capture_output=True, check=True, timeout=LIMIT_S)
    values = {row["name"]: row["value"] for row in json.loads(done.stdout)["conditions"]}
    state = values.get("kernel_events", "off")
    return "yes" if state == "recorded" else str(state)


def replayed(path: Path) -> str:
    line = [COMMAND, "replay", str(path), "--quick", "--on", "glibc", "--json"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=LIMIT_S)
    return "yes" if done.returncode == 0 else last_line(done.stderr)


OF_TRACE: dict[str, Callable[[Path], str]] = {
    "stacks": whole_stacks,
    "residency": residency,
    "kernel events": kernel_events,
    "replay": replayed,
}


def cells(target: Target) -> dict[str, str]:
    """By column; "yes", or why not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        record, path = recorded(target, folder)
        found = {"record": record, "--pid": attached(target, folder), "count": counted(target)}
        for column, ask in OF_TRACE.items():
            found[column] = ask(path) if path is not None else "not recorded"
    return found


def built(compiler: Sequence[str], to: Path, more: Sequence[str] = ()) -> bool:
    source = str(project / "bench/matrix/program.c")
    line = [*compiler, "-O1", "-g", "-pthread", source, "-o", str(to), *more]
    return shutil.which(compiler[0]) is not None and subprocess.run(line, capture_output=True).returncode == 0


def built_with_library(folder: Path, to: Path) -> bool:
    """The program as a library with a hidden jemalloc, and one that calls it."""
    names, main = folder / "exported", folder / "main.c"
    names.write_text("{ global: program_main; local: *; };")
    main.write_text("int program_main(void); int main(void) { return program_main(); }")
    library = folder / "libprogram.so"
    inside = [f"-Wl,--version-script={names}", "-Wl,-Bstatic", "-ljemalloc_pic", "-Wl,-Bdynamic"]
    if not built(["gcc", "-shared", "-fPIC", "-Dmain=program_main"], library, [*inside, "-lstdc++", "-lm"]):
        return False
    line = ["gcc", "-O1", "-g", str(main), str(library), f"-Wl,-rpath,{folder}", "-o", str(to)]
    return subprocess.run(line, capture_output=True).returncode == 0


def here(folder: Path, missing: list[str]) -> Iterator[Target]:
    described = machine.describe()
    system, libc = described["system"], described["libc"]
    program = folder / "dynamic"
    if not built(["gcc"], program):
        sys.exit("matrix: gcc does not build the program; apt install gcc")
    yield Target(system, libc, "dynamic", "glibc", str(program))
    own = project / "build/release/lib/libheapwright.so"
    for allocator, path in {
        **{of: LIBRARIES / file for of, file in PRELOADED.items()},
        "heapwright": own,
    }.items():
        if path.exists():
            yield Target(system, libc, "dynamic", f"{allocator}, preloaded", str(program), preload=str(path))
        else:
            missing.append(f"{allocator} ({path})")
    for number, ((linked, of), compiler) in enumerate(LINKED.items()):
        program = folder / f"linked{number}"
        if built(compiler, program):
            yield Target(system, libc if of == "glibc" else of, linked, of, str(program))
        else:
            missing.append(f"{' '.join(compiler)}")
    program = folder / "inside"
    if built(["gcc"], program, ["-Wl,-Bstatic", "-ljemalloc", "-Wl,-Bdynamic", "-lstdc++", "-lm", "-ldl"]):
        yield Target(system, libc, "dynamic", "jemalloc inside", str(program), options=("--patch",))
    else:
        missing.append("libjemalloc.a")
    program = folder / "linked_to_library"
    if built_with_library(folder, program):
        yield Target(system, libc, "dynamic", "jemalloc inside a library", str(program))
    else:
        missing.append("libjemalloc_pic.a")


def elsewhere(root: Path) -> Iterator[Target]:
    shutil.copy(project / "bench/matrix/program.c", root / "tmp/program.c")
    make = ["chroot", str(root), "gcc", "-O1", "-g", "-pthread", "/tmp/program.c", "-o", "/tmp/program"]
    subprocess.run(make, check=True)
    version = ["chroot", str(root), "getconf", "GNU_LIBC_VERSION"]
    libc = subprocess.run(version, check=True, capture_output=True, text=True).stdout.strip()
    yield Target(f"Debian {root.name}, in a chroot", libc, "dynamic", "glibc", "/tmp/program", root)


def made_roots(releases: Sequence[str], missing: list[str]) -> list[Path]:
    """In build/roots; those that cannot be made are missing."""
    found = []
    for release in releases:
        root = project / "build/roots" / f"matrix-{release}" / release
        if not root.is_dir():
            if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
                missing.append(f"{release} (as root, with mmdebstrap)")
                continue
            root.parent.mkdir(parents=True, exist_ok=True)
            new = root.with_suffix(".new")
            line = ["mmdebstrap", "--variant=apt", "--include=gcc,libc6-dev", release, str(new), mirror()]
            subprocess.run(line, check=True, stderr=subprocess.DEVNULL)
            new.rename(root)
        found.append(root)
    return found


def measured(targets: Iterator[Target]) -> list[dict[str, Any]]:
    rows = []
    for target in targets:
        row: Mapping[str, Any] = {
            "system": target.system,
            "libc": target.libc,
            "linked": target.linked,
            "allocator": target.allocator,
            "cells": cells(target),
        }
        shown = ", ".join(f"{column}: {cell}" for column, cell in row["cells"].items())
        print(f"{target.system}, {target.libc}, {target.linked}, {target.allocator}: {shown}", flush=True)
        rows.append(dict(row))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roots", nargs="*", type=Path, metavar="FOLDER", help="a root, named as its release")
    parser.add_argument("--make-roots", nargs="*", default=[], metavar="RELEASE", help="made if root")
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    options = parser.parse_args()
    missing: list[str] = []
    # Of the build, which is visible in roots.
    os.environ["HEAPWRIGHT_BIN"] = str(project / "build/release/bin")
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(here(Path(folder), missing))
    for root in [*options.roots, *made_roots(options.make_roots, missing)]:
        rows += measured(elsewhere(root.resolve()))
    if missing:
        print(f"matrix: not on this machine: {', '.join(missing)}")
    document = {"machine": machine.describe(), "sources": sources.stamp("recorder"), "rows": rows}
    (options.output / "matrix.json").write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
