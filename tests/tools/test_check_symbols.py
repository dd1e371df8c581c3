# SPDX-License-Identifier: MIT
"""check_symbols.py against small libraries that break one rule each."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

tools_folder = Path(__file__).resolve().parents[2] / "tools"


def required_exports() -> list[str]:
    spec = importlib.util.spec_from_file_location("check_symbols", tools_folder / "check_symbols.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return sorted(module.REQUIRED)


def build(folder: Path, extra: str = "", leave_out: str = "", options: tuple[str, ...] = ()) -> Path:
    names = [n for n in required_exports() if n != leave_out]
    source = folder / "library.c"
    source.write_text("".join(f"void {n}(void) {{}}\n" for n in names) + extra, encoding="utf-8")
    library = folder / "lib.so"
    base = ["gcc", "-w", "-shared", "-fPIC", "-fno-builtin", "-nostdlib", "-Wl,-z,undefs"]
    subprocess.run([*base, str(source), "-o", str(library), *options], check=True, timeout=60)
    return library


def test_a_library_of_entry_points_alone_passes(run_check, tmp_path):
    result = run_check("check_symbols.py", build(tmp_path, "void heapwright_record_start(void) {}"))
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("void surprise(void) {}", "unexpected export: surprise"),
        ("void printf(); void heapwright_x(void) { printf(); }", "undefined symbol printf is stdio"),
        ("void __cxa_throw(); void heapwright_x(void) { __cxa_throw(); }", "is the C++ runtime"),
        ("void __libc_malloc(); void heapwright_x(void) { __libc_malloc(); }", "belongs to one allocator"),
        ("void _Unwind_Backtrace(); void heapwright_x(void) { _Unwind_Backtrace(); }", "libgcc"),
        ("static __thread char a[100]; char* heapwright_x(void) { return a; }", "static TLS: 100 bytes"),
    ],
)
def test_each_rule_can_fail(run_check, tmp_path, extra, message):
    library = build(tmp_path, extra, options=("-ftls-model=initial-exec",))
    result = run_check("check_symbols.py", library)
    assert result.returncode == 1
    assert message in result.stdout


def test_a_missing_entry_point_fails(run_check, tmp_path):
    result = run_check("check_symbols.py", build(tmp_path, leave_out="realloc"))
    assert result.returncode == 1
    assert "missing export: realloc" in result.stdout


def test_a_needed_library_fails(run_check, tmp_path):
    result = run_check("check_symbols.py", build(tmp_path, options=("-Wl,--no-as-needed", "-lc")))
    assert result.returncode == 1
    assert "NEEDED" in result.stdout


def test_a_missing_library_says_what_to_do(run_check, tmp_path):
    result = run_check("check_symbols.py", tmp_path / "none.so")
    assert result.returncode == 2
    assert "run 'make build' first" in result.stdout
