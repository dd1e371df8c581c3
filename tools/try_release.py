#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Installs each file of dist/ in a bare chroot of a Debian release, uses it, and says what was not tried.

The chroots are made once by mmdebstrap, in build/roots, from the mirror that apt has; as root.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from make_release import wheels_of
from release_tree import ReleaseError, project, run, version
from run_trixie import mirror

# What the recipe begins with.
CONTAINER_BASE = "docker.io/library/debian:bookworm-slim"
# Suite -> the ways that must work.
EACH = {"deb", "library", "development", "tarball", "alone", "wheel"}
SUITES = {
    "bookworm": EACH,
    "trixie": EACH,
    "bullseye": {"tarball", "alone"},
}
limit_s = 600
USE = "heapwright run --output /tmp/ls.heapwright --force -- ls / | grep -q '^complete'"
TRY = "heapwright try --runs 3 --remedy set:glibc.arena_max=1 -- ls / >/dev/null"
PRELOAD = "LD_PRELOAD=libheapwright.so.1 cat /proc/self/maps | grep -q libheapwright.so.1"
# Counts as linked only if the heap serves this program's malloc.
PROGRAM = """#include <heapwright/heap.h>
#include <stdlib.h>
int main(void) {
  heapwright_heap_statistics now;
  void* block = malloc(1000000);
  if (block == NULL || heapwright_heap_get_statistics(NULL, &now) != 0) return 2;
  free(block);
  return now.large_bytes >= 1000000 ? 0 : 1;
}
"""
COMPILE = "gcc statistics.c -o statistics $(pkg-config --cflags --libs heapwright) && ./statistics"
APT = "apt-get update -qq && apt-get install -y -qq --no-install-recommends"


def ways(name: str) -> dict[str, str]:
    """Name -> what a user types, in /tmp, where dist/'s files lie."""
    unpack = f"tar xzf {name}.tar.gz && mv {name} /srv/moved && export PATH=/srv/moved/bin:$PATH"
    return {
        "deb": f"{APT} ./heapwright_*.deb >/dev/null && {USE}"
        " && test -s /usr/share/man/man1/heapwright-record.1.gz"
        " && heapwright --completion bash | diff - /usr/share/bash-completion/completions/heapwright"
        " && apt-get purge -y -qq heapwright >/dev/null && test ! -e /usr/lib/heapwright",
        "library": f"{APT} ./libheapwright1_*.deb >/dev/null && {PRELOAD}",
        "development": f"{APT} gcc libc6-dev pkg-config ./libheapwright1_*.deb ./libheapwright-dev_*.deb"
        f" >/dev/null && {PRELOAD} && {COMPILE}",
        "tarball": f"{APT} python3 >/dev/null && {unpack} && {USE}",
        "alone": f"! command -v python3 && {unpack} && {USE} && {TRY}",
        "wheel": f"{APT} python3-venv >/dev/null && python3 -m venv /srv/venv"
        " && /srv/venv/bin/pip install -q --no-index --find-links wheels heapwright"
        f" && export PATH=/srv/venv/bin:$PATH && {USE}",
    }


def make_root(suite: str) -> Path:
    archive = project / f"build/roots/{suite}.tar"
    if archive.exists():
        return archive
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        raise ReleaseError("only root can make a chroot, with mmdebstrap, which Debian has a package of")
    archive.parent.mkdir(parents=True, exist_ok=True)
    made = archive.with_suffix(".new.tar")
    run("mmdebstrap", "--variant=minbase", suite, made, mirror())
    made.rename(archive)
    return archive


def lay_root(archive: Path, root: Path, out: Path, wheels: Path) -> None:
    run("tar", "-C", root, "-xf", archive)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    for pattern in ("*.deb", f"heapwright-{version}-linux-*.tar.gz"):
        for file in out.glob(pattern):
            shutil.copy(file, root / "tmp")
    (root / "tmp/statistics.c").write_text(PROGRAM, encoding="utf-8")
    shutil.copytree(wheels, root / "tmp/wheels")


def say(root: Path, command: str) -> tuple[int, str]:
    """Exit code and output of a shell's command in the chroot, with mounts that end with it."""
    script = (
        f"mount --rbind /proc {root}/proc && mount --rbind /dev {root}/dev && mkdir -p {root}/srv/work && "
        f"exec chroot {root} env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "
        'DEBIAN_FRONTEND=noninteractive sh -c "cd /tmp && $0"'
    )
    ended = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, command],
        capture_output=True,
        text=True,
        check=False,
        timeout=limit_s,
    )
    return ended.returncode, ended.stdout + ended.stderr


def verdict(suite: str, way: str, code: int, said: str) -> tuple[bool, str]:
    """Whether that is as it should be, and what to print."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if code == 0:
        return True, "installed and used"
    if way not in SUITES[suite]:
        wanted = ("Depends", "needs Python", "not found")
        return (
            True,
            f"refused: {next((line for line in lines if any(word in line for word in wanted)), lines[-1])}",
        )
    return False, f"exit code {code}: {' / '.join(lines)[-500:]}"


def try_suite(suite: str, out: Path, wheels: Path, only: list[str]) -> int:
    failed = 0
    try:
        archive = make_root(suite)
    except ReleaseError as error:
        print(f"{suite:9} not tried: {error}")
        return 0
    for way, command in ways(f"heapwright-{version}-linux-x86_64").items():
        if only and way not in only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "root"
            root.mkdir()
            lay_root(archive, root, out, wheels)
            is_well, text = verdict(suite, way, *say(root, command))
        failed += not is_well
        print(f"{suite:9} {way:12} {'' if is_well else 'FAILED '}{text}", flush=True)
    return failed


def try_container(out: Path, archive: Path) -> int:
    """Builds the recipe on mmdebstrap's bookworm instead of a registry's, and uses it; failures."""
    if shutil.which("buildah") is None:
        print("container not tried: needs buildah, which Debian has a package of")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        stores = [f"--root={folder}/images", f"--runroot={folder}/run", "--storage-driver=vfs"]
        build = ["buildah", *stores, "build", "--isolation=chroot", "--pull-never"]
        base = Path(folder) / "base"
        base.mkdir()
        shutil.copy(archive, base / "base.tar")
        (base / "Containerfile").write_text("FROM scratch\nADD base.tar /\n", encoding="utf-8")
        try:
            run(*build, "-t", CONTAINER_BASE, base)
            run(*build, "-t", "heapwright", "-f", out / "Containerfile", out)
            container = run("buildah", *stores, "from", "--pull-never", "heapwright").strip()
            used = ["buildah", *stores, "run", "--isolation=chroot", container, "--"]
            run(*used, "sh", "-c", USE)
        except ReleaseError as error:
            print(f"container FAILED {error}")
            return 1
    print("container    built on bookworm as mmdebstrap makes it, and used")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=project / "dist")
    parser.add_argument("--suites", nargs="+", default=list(SUITES), choices=list(SUITES))
    parser.add_argument("--ways", nargs="+", default=[], choices=[*ways(""), "container"])
    chosen = parser.parse_args()
    try:
        run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=chosen.out)
        wheels = wheels_of(chosen.out)
        with tempfile.TemporaryDirectory() as folder:
            run(sys.executable, "-m", "pip", "download", "-q", "-d", folder, wheels[0])
            for wheel in wheels[1:]:
                shutil.copy(wheel, folder)
            out = chosen.out.resolve()
            failed = sum(try_suite(suite, out, Path(folder), chosen.ways) for suite in chosen.suites)
        if not chosen.ways or "container" in chosen.ways:
            failed += try_container(out, make_root("bookworm"))
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
