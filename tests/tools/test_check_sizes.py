# SPDX-License-Identifier: MIT
import pytest


def lines(count: int, text: str = "  step();") -> str:
    return (text + "\n") * count


def cpp_blocks(depth: int) -> str:
    return "void f() {\n" + "if (a) {\n" * depth + "x = {1, 2};\n" + "}\n" * depth + "}\n"


def python_blocks(depth: int) -> str:
    body = "".join("    " * (i + 1) + "if a:\n" for i in range(depth))
    return "def f(a):\n" + body + "    " * (depth + 1) + "pass\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/a.cpp", "void f() {\n" + lines(58) + "}\n"),
        ("src/a.cpp", "namespace x {\nstruct A {\n" + lines(400, "  int a;") + "};\n}\n"),
        ("src/a.cpp", "const int table[] = {\n" + lines(100, "  1,") + "};\n"),
        ("src/a.cpp", "// length: one table of names\n" + lines(599, "int a;")),
        ("src/a.cpp", lines(450, "int a;")),
        ("src/a.cpp", cpp_blocks(3)),
        ("src/a.cpp", "void f() {\n if (a) {\n }" + " else if (b) {\n }" * 9 + "\n}\n"),
        ("src/a.cpp", 'void f() {\n s = "{{{{{{{"; c = \'{\'; r = R"({{{{)"; // {{{{\n}\n'),
        ("python/a.py", python_blocks(3)),
        ("python/a.py", "def f(a):\n" + lines(59, "    pass")),
    ],
)
def test_what_keeps_to_the_limits_passes(run_check, write_tree, name, text):
    result = run_check("check_sizes.py", write_tree({name: text}))
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("src/a.cpp", "void f() {\n" + lines(60) + "}\n", "62 lines, at most 60: void f()"),
        ("src/a.cpp", "A::A(int a) noexcept\n    : a_(a) {\n" + lines(60) + "}\n", "63 lines, at most 60"),
        ("src/a.cpp", "namespace x {\nint f() const {\n" + lines(60) + "}\n}\n", "62 lines, at most 60"),
        ("src/a.cpp", "void f() {\n for (;;) {\n" + lines(60) + "}\n}\n", "at most 60"),
        ("src/a.cpp", cpp_blocks(4), "4 blocks deep, at most 3"),
        ("src/a.cpp", lines(451, "int a;"), "needs a line '// length: why'"),
        ("src/a.cpp", "// length: because\n" + lines(600, "int a;"), "601 lines, at most 600"),
        ("python/a.py", python_blocks(4), "4 blocks deep, at most 3"),
        ("python/a.py", "def f(a):\n" + lines(60, "    pass"), "61 lines, at most 60"),
        ("tools/a.py", lines(451, "a = 1"), "needs a line"),
    ],
)
def test_each_limit_can_fail(run_check, write_tree, name, text, message):
    result = run_check("check_sizes.py", write_tree({name: text}))
    assert result.returncode == 1
    assert message in result.stdout
