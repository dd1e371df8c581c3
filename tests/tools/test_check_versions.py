# SPDX-License-Identifier: MIT
"""check_versions.py against small libraries that want symbols of chosen versions."""

import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest


def build(folder: Path, version: str, name: str = "wanted") -> Path:
    """A library that wants one function, of a version that another library beside it has."""
    script = folder / "versions.map"
    script.write_text(f"{version} {{ global: {name}; }};\n")
    other, library = folder / "other.so", folder / "lib.so"
    base = ["gcc", "-shared", "-fPIC", "-nostdlib", "-x", "c", "-"]

    def compile_c(text: str, *options: str) -> None:
        subprocess.run([*base, *options], input=text, text=True, check=True, timeout=60)

    compile_c(f"void {name}(void) {{}}", "-o", str(other), f"-Wl,--version-script={script}")
    text = f"void {name}(void); void ours(void) {{ {name}(); }}"
    compile_c(text, "-o", str(library), "-x", "none", str(other))
    other.unlink()
    return library


@pytest.mark.parametrize("version", ["GLIBC_2.17", "GLIBC_2.2.5", "CXXABI_1.3.11", "LIBOTHER_9.9"])
def test_what_is_old_enough_passes(run_check, tmp_path, version):
    result = run_check("check_versions.py", build(tmp_path, version))
    assert result.returncode == 0, result.stdout
    assert result.stdout == "versions: 1 binaries, glibc 2.17 at most, 0 problems\n"


@pytest.mark.parametrize(
    "version",
    ["GLIBC_2.18", "GLIBC_2.34", "GLIBC_PRIVATE", "GLIBC_ABI_DT_RELR", "GLIBCXX_3.4.30", "CXXABI_1.3.13"],
)
def test_a_later_version_is_named_with_its_symbol(run_check, tmp_path, version):
    result = run_check("check_versions.py", build(tmp_path, version))
    assert result.returncode == 1
    assert f"lib.so: needs {version} for wanted\n" in result.stdout


def test_the_limit_can_be_chosen(run_check, tmp_path):
    library = build(tmp_path, "GLIBC_2.31")
    assert run_check("check_versions.py", "--at-most", "2.31", library).returncode == 0
    assert run_check("check_versions.py", "--at-most", "2.30", library).returncode == 1


def test_folders_and_wheels_are_searched(run_check, tmp_path):
    inside = tmp_path / "package"
    inside.mkdir()
    library = build(inside, "GLIBC_2.34")
    (inside / "text.py").write_text("no binary\n")
    wheel = tmp_path / "one.whl"
    with ZipFile(wheel, "w") as archive:
        archive.write(library, "package/lib.so")
    for given, name in ((inside, "lib.so"), (wheel, "package/lib.so")):
        result = run_check("check_versions.py", "--list", given)
        assert result.returncode == 1
        assert f"{name}: 2.34\n{name}: needs GLIBC_2.34 for wanted\n" in result.stdout


def test_nothing_to_check_is_said(run_check, tmp_path):
    assert run_check("check_versions.py", tmp_path / "none.so").returncode == 2
    result = run_check("check_versions.py", tmp_path)
    assert result.returncode == 2
    assert "no binary in what was given" in result.stdout
