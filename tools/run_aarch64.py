#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs what was built for aarch64 in an emulated machine with Debian's kernel: `make aarch64`.

The unwinder's tests, and recordings of programs with known figures, which are read here, on the other
processor. The machine has build/roots/aarch64 in memory, made by mmdebstrap; remove it to have it made anew.
With --make-root it is only made. Exit code 2: it cannot be made here.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from older_system import make_root
from release_tree import ReleaseError, project, run
from run_trixie import CannotBeMadeError

root = project / "build/roots/aarch64"
build = project / "build/aarch64"
work = project / "build/aarch64-machine"
PACKAGES = (
    *(
        "libc6-dev",
        "libstdc++-12-dev",
        "libzstd-dev",
        "libelf-dev",
        "libdw-dev",
        "libiberty-dev",
        "libzydis-dev",
        "libgtest-dev",
    ),
    *("bash", "coreutils", "mount", "python3", "linux-image-arm64"),
)
# Of the kernel, to see this folder.
MODULES = (
    *("virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci", "virtio_mmio"),
    *("netfs", "fscache", "9pnet", "9pnet_virtio", "9p"),
)
# Compilers and documents are not needed in the machine.
LEFT_OUT = ("boot", "lib/modules", "usr/include", "usr/share", "usr/lib/gcc", "var")
machine_limit_s = 1500
test_limit_s = 400
# Deep calls are what they test: with signed return addresses, without frame pointers.
BUILDS = {
    "plain": [],
    "signed": ["-mbranch-protection=standard"],
    "frameless": ["-fomit-frame-pointer", "-momit-leaf-frame-pointer"],
}
# With their filters.
TESTS = {
    **dict.fromkeys(("unwind_optimized_test", "unwind_unoptimized_test", "unwind_frame_pointer_test"), "*"),
    **dict.fromkeys(("unwind_loader_list_test", "unwind_gaps_bfd_anywhere_test", "both_ends_test"), "*"),
    "replay_test": "RecordedOrder*:CachedBuffers*",
    "heap_test": "HugePages*",
}
# Calls by the functions that the stack has in this order, from outside; of all processes.
PLANTED = {
    ("main", "planted_session", "planted_leaf"): 1000 + 10 + 50,
    ("planted_session", "planted_leaf"): 1000 + 4 * 250 + 10 + 50,
    ("main", *["planted_recursion"] * 61, "planted_session", "planted_leaf"): 10,
    ("main", "planted_faults", "planted_interrupted", "planted_handler", "planted_leaf"): 7,
    ("main", "planted_catch", "planted_throw", "planted_leaf"): 11,
}
PYTHON = "import json; print(len([json.dumps({'a': [1] * i}) for i in range(300)]))"

INIT = """#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mkdir -p /proc /sys /dev /tmp /share
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/shm; mount -t tmpfs tmpfs /dev/shm; mount -t tmpfs tmpfs /tmp
for name in {modules}; do [ -f /modules/$name.ko ] && insmod /modules/$name.ko; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 share /share
mkdir -p {project}; mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 build {project}
cd /tmp; bash /share/tasks.sh > /share/output 2>&1
sync; echo o > /proc/sysrq-trigger; sleep 20
"""


def make_memory() -> Path:
    """What the machine has in memory when it starts."""
    archive = work / "memory.cpio"
    if archive.exists():
        return archive
    tree = work / "memory"
    run("rm", "-rf", "--one-file-system", tree)
    run("cp", "-a", "--reflink=auto", root, tree)
    kept = tree / "modules"
    kept.mkdir()
    for module in tree.glob("lib/modules/**/*.ko"):
        if module.stem in MODULES:
            shutil.copy(module, kept)
    for place in LEFT_OUT:
        run("rm", "-rf", "--one-file-system", tree / place)
    init = tree / "init"
    init.write_text(INIT.format(modules=" ".join(MODULES), project=project))
    init.chmod(0o755)
    run(
        "sh",
        "-c",
        f"cd {shlex.quote(str(tree))} && find . | cpio -o -H newc --quiet > {shlex.quote(str(archive))}",
    )
    run("rm", "-rf", "--one-file-system", tree)
    return archive


def make_programs(share: Path) -> None:
    source = project / "tests/aarch64/planted.cpp"
    compiler = ["aarch64-linux-gnu-g++", f"--sysroot={root}", "-std=c++20", "-O2", "-g", "-pthread"]
    for name, options in BUILDS.items():
        run(*compiler, *options, "-o", share / name, source)


def tasks() -> str:
    collect = f"{build}/bin/heapwright-collect --library {build}/lib/libheapwright-record.so --force --quiet"
    lines = []
    for test, which in TESTS.items():
        command = f"timeout {test_limit_s} {build}/bin/{test} --gtest_brief=1 --gtest_filter='{which}'"
        lines.append(f"{command} > /share/{test}.txt 2>&1; echo {test} $?")
    programs = {name: f"/share/{name}" for name in BUILDS} | {
        "python": f"/usr/bin/python3 -c {shlex.quote(PYTHON)}"
    }
    for name, program in programs.items():
        lines.append(
            f"{collect} --children --output /share/{name}.%p.heapwright -- {program} "
            f"> /share/{name}.txt 2>&1; echo record-{name} $?"
        )
        heap = f"LD_PRELOAD={build}/lib/libheapwright.so {program} > /share/{name}.heap.txt 2>&1"
        lines.append(f"{heap}; echo heap-{name} $?")
    count = f"LD_PRELOAD={build}/lib/libheapwright-count.so /share/plain > /share/count.txt 2>&1"
    lines.append(f"{count}; echo count-plain $?")
    return "\n".join(lines) + "\n"


def run_machine(share: Path) -> dict[str, int]:
    """What each task ended with."""
    (share / "tasks.sh").write_text(tasks())
    kernels = sorted(root.glob("boot/vmlinuz-*"))
    shared = []
    for tag, place in (("share", share), ("build", project)):
        shared += ["-fsdev", f"local,id={tag},path={place},security_model=none"]
        shared += ["-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
    command = ["qemu-system-aarch64", "-M", "virt", "-cpu", "max", "-smp", "2", "-m", "3000", "-nographic"]
    command += [
        "-no-reboot",
        "-net",
        "none",
        "-kernel",
        str(kernels[-1]),
        "-initrd",
        str(make_memory()),
        *shared,
    ]
    command += ["-append", "console=ttyAMA0 rdinit=/init quiet panic=-1"]
    with (share / "console").open("wb") as console:
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            timeout=machine_limit_s,
            check=False,
        )
    output = share / "output"
    if not output.exists():
        raise ReleaseError(f"the machine did not start: see {share / 'console'}")
    return {task: int(status) for task, status in (line.split() for line in output.read_text().splitlines())}


def is_within(names: tuple[str, ...], functions: list[str]) -> bool:
    """Whether the stack has all of them, in this order, and the last ones at its end."""
    left = iter(functions)
    return functions[-1:] == list(names[-1:]) and all(name in left for name in names)


def calls_of(trace: Path) -> list[tuple[list[str], int]]:
    """The functions of each stack, as this machine names them, and its calls."""
    heapwright = project / ".venv/bin/heapwright"
    folded = trace.with_suffix(".folded")
    run(
        heapwright,
        "export",
        trace,
        "--to",
        "folded",
        "--measure",
        "calls",
        "--debug-root",
        work,
        "-o",
        folded,
        "--force",
    )
    found = []
    for line in folded.read_text().splitlines():
        stack, calls = line.rsplit(" ", 1)
        functions = [name.split("(")[0] for name in stack.replace("(anonymous namespace)::", "").split(";")]
        found.append((functions, int(calls)))
    return found


def faults_of(name: str, share: Path) -> list[str]:
    """What of the recordings of one program is not as planted."""
    stacks = [stack for trace in sorted(share.glob(f"{name}.*.heapwright")) for stack in calls_of(trace)]
    faults = []
    for names, planted in PLANTED.items():
        calls = sum(calls for functions, calls in stacks if is_within(names, functions))
        if calls != planted:
            faults.append(
                f"{name}: {calls} calls of {' from '.join(reversed(names[-3:]))}, {planted} are planted"
            )
    return faults


def faults_of_python(share: Path) -> list[str]:
    stacks = [stack for trace in sorted(share.glob("python.*.heapwright")) for stack in calls_of(trace)]
    return (
        []
        if any("<module>" in functions for functions, _ in stacks)
        else ["python: no Python function is named"]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--make-root", action="store_true")
    options = parser.parse_args()
    try:
        make_root(root, "a system for aarch64", PACKAGES, "bookworm", "--arch=arm64")
        if options.make_root:
            print(root)
            return 0
        share = work / "share"
        run("rm", "-rf", "--one-file-system", share)
        share.mkdir(parents=True)
        make_programs(share)
        ended = run_machine(share)
        wrong = [fault for name in BUILDS for fault in faults_of(name, share)] + faults_of_python(share)
    except (ReleaseError, CannotBeMadeError) as error:
        print(f"aarch64: {error}", file=sys.stderr)
        return 2
    wanted = len(TESTS) + 2 * (len(BUILDS) + 1) + 1
    failed = [task for task, status in ended.items() if status != 0]
    for task in failed:
        print(f"aarch64: {task} ended with {ended[task]}: see {share}", file=sys.stderr)
    for fault in wrong:
        print(f"aarch64: {fault}", file=sys.stderr)
    print(f"aarch64: {len(ended) - len(failed)} of {wanted} tasks ended well in the machine")
    return 1 if failed or wrong or len(ended) != wanted else 0


if __name__ == "__main__":
    sys.exit(main())
