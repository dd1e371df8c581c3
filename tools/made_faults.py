# SPDX-License-Identifier: MIT
# length: two languages, one table of changes and one draw
"""Makes faults at random: a changed operator, bound, argument, condition or memory order, a lost statement.

Python's places come from its syntax tree (ast), those of C++ from libclang's. The draw depends on the
seed and the sources alone.
"""

import ast
import json
import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from check_tidy import GCC_HEADERS, apart

FOLDERS = ("src", "include", "python")
SUFFIXES = {".cpp", ".hpp", ".h", ".py"}
# Not of the product, or not compiled from here.
LEFT_OUT = re.compile(r"/schemas/|/uplot/|^src/python_module/|\.js$")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


@dataclass(frozen=True)
class Change:
    """Bytes begin to end of the file give way to `replace`."""

    file: str
    line: int
    begin: int
    end: int
    replace: str
    kind: str


_PAIRS = "< <=, > >=, == !=, + -, * /, << >>, & |, += -=, *= /=, |= &=, <<= >>=, && ||, ++ --"
_PAIRS += ", and or, is is_not, in not_in"
SWAPPED = {"//": "*", "%": "*"}
for _pair in _PAIRS.replace("_", " ").split(", "):
    _one, _, _other = _pair.partition(" ")
    SWAPPED |= {_one: _other, _other: _one}


def product_files(root: Path) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", *FOLDERS], cwd=root, check=True, capture_output=True, text=True
    )
    return [
        name
        for name in listed.stdout.split()
        if Path(name).suffix in SUFFIXES and not LEFT_OUT.search(name) and (root / name).is_file()
    ]


def changed_lines(root: Path, base: str) -> dict[str, set[int]]:
    """The lines of product files that are not as they were at `base`."""
    line = ["git", "diff", "-U0", "--no-color", "--no-ext-diff", base, "--", *FOLDERS]
    text = subprocess.run(line, cwd=root, check=True, capture_output=True, text=True).stdout
    found: dict[str, set[int]] = {}
    name = ""
    for row in text.splitlines():
        if row.startswith("+++ "):
            name = row.removeprefix("+++ b/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", row):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            found.setdefault(name, set()).update(range(first, first + count))
    return {name: lines for name, lines in found.items() if lines}


def draw(root: Path, count: int, seed: int, base: str = "", only: str = "") -> Iterator[Change]:
    """Faults at random: each line of the product is as likely, or each that changed since base."""
    chosen = random.Random(seed)
    changed = changed_lines(root, base) if base else {}
    files = [name for name in product_files(root) if re.search(only, name) and (not base or name in changed)]
    weights = [len(changed[name]) if base else (root / name).read_bytes().count(b"\n") for name in files]
    taken: set[tuple[str, int, int]] = set()
    for _ in range(count * 20 if files else 0):
        name = chosen.choices(files, weights)[0]
        places = [c for c in changes_in(root, name) if not base or c.line in changed[name]]
        if not places:
            continue
        # Of each kind alike: most places are arguments.
        kind = chosen.choice(sorted({place.kind for place in places}))
        change = chosen.choice([place for place in places if place.kind == kind])
        if (name, change.begin, change.end) not in taken:
            taken.add((name, change.begin, change.end))
            yield change
        if len(taken) == count:
            return


@lru_cache(maxsize=256)
def changes_in(root: Path, name: str) -> tuple[Change, ...]:
    text = (root / name).read_bytes()
    found = of_python(name, text) if name.endswith(".py") else of_cpp(root, name, text)
    return tuple(sorted(found, key=lambda change: (change.begin, change.end, change.replace)))


# Python


class PythonPlaces(ast.NodeVisitor):
    def __init__(self, name: str, text: bytes) -> None:
        self.name, self.text, self.found = name, text, list[Change]()
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self.starts = starts
        self.bound: set[str] = set()

    def place(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno and node.end_col_offset is not None
        begin = self.starts[node.lineno - 1] + node.col_offset
        return begin, self.starts[node.end_lineno - 1] + node.end_col_offset

    def add(self, line: int, begin: int, end: int, replace: str, kind: str) -> None:
        self.found.append(Change(self.name, line, begin, end, replace, kind))

    def between(self, left: ast.expr, right: ast.expr, kind: str) -> None:
        """The operator that stands between two operands."""
        begin, end = self.place(left)[1], self.place(right)[0]
        words = re.search(rb"(?:not\s+in|is\s+not|[a-z]+|[^\s()#\\]+)", self.text[begin:end])
        if words and (to := SWAPPED.get(re.sub(r"\s+", " ", words[0].decode()))):
            self.add(left.end_lineno or 0, begin + words.start(), begin + words.end(), to, kind)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, right in pairwise(operands):
            self.between(left, right, "operator")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        ends = (node.left, node.right)
        is_text = any(isinstance(e, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp) for e in ends)
        is_text |= any(isinstance(e, ast.Constant) and not isinstance(e.value, int | float) for e in ends)
        if not is_text:
            self.between(node.left, node.right, "operator")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in pairwise(node.values):
            self.between(left, right, "operator")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self.add(node.lineno, self.place(node)[0], self.place(node.operand)[0], "", "condition")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        begin, end = self.place(node)
        if isinstance(node.value, bool):
            self.add(node.lineno, begin, end, str(not node.value), "condition")
        elif isinstance(node.value, int):
            self.add(node.lineno, begin, end, str(node.value + 1), "bound")
        elif isinstance(node.value, float):
            self.add(node.lineno, begin, end, repr(node.value * 2 + 1), "bound")

    def negate(self, test: ast.expr) -> None:
        begin, end = self.place(test)
        if not (isinstance(test, ast.Compare | ast.UnaryOp)):
            self.add(test.lineno, begin, end, f"(not ({self.text[begin:end].decode()}))", "condition")

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.negate(node.test)
            self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.negate(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        for left, right in pairwise(node.args):
            if type(left) is not type(right) or isinstance(left, ast.Starred):
                continue  # a type checker sees most of those
            (begin, middle), (after, end) = self.place(left), self.place(right)
            one, two = self.text[begin:middle], self.text[after:end]
            if one != two:
                self.add(left.lineno, begin, end, (two + self.text[middle:after] + one).decode(), "argument")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.add(node.lineno, *self.place(node), "pass", "lost statement")
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        (target, *_) = node.targets
        is_again = isinstance(target, ast.Name) and target.id in self.bound
        if isinstance(target, ast.Attribute | ast.Subscript) or is_again:
            self.add(node.lineno, *self.place(node), "pass", "lost statement")
        if isinstance(target, ast.Name):
            self.bound.add(target.id)
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.add(node.lineno, *self.place(node), "pass", "lost statement")
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        before, self.bound = self.bound, {argument.arg for argument in node.args.args}
        for default in [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]:
            self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self.bound = before


def of_python(name: str, text: bytes) -> list[Change]:
    places = PythonPlaces(name, text)
    places.visit(ast.parse(text))
    return places.found


# C++


@lru_cache(maxsize=1)
def commands(root: Path) -> dict[str, dict[str, str]]:
    listed = json.loads((root / "build/release/compile_commands.json").read_text())
    folders = (f"{root}/src/", f"{root}/tests/")
    found: dict[str, dict[str, str]] = {}
    for command in (each for entry in listed for each in apart(entry)):
        if command["file"].startswith(folders):
            found.setdefault(command["file"], command)
    return found


@lru_cache(maxsize=1)
def includes(root: Path) -> dict[str, set[str]]:
    """For each source that is compiled: what it includes, directly and by way of others of ours."""
    direct: dict[str, set[str]] = {}

    def of(path: Path) -> set[str]:
        name = str(path)
        if name not in direct:
            direct[name] = set()
            words = INCLUDE.findall(path.read_text(encoding="utf-8"))
            places = [p for w in words for p in (root / "src" / w, root / "include" / w, path.parent / w)]
            own = {place.resolve() for place in places if place.is_file()}
            direct[name] = {str(p) for p in own}.union(*(of(p) for p in own))
        return direct[name]

    return {file: of(Path(file)) for file in commands(root)}


def read_by(root: Path, name: str) -> str:
    """A source by way of which this file is compiled: itself, or the nearest that includes it."""
    path = str((root / name).resolve())
    if path in commands(root):
        return path
    readers = [source for source, read in includes(root).items() if path in read]

    def distance(source: str) -> tuple[bool, bool, str]:
        return "/tests/" in source, Path(source).parent != Path(path).parent, source

    return min(readers, key=distance) if readers else ""


def parsed(root: Path, name: str) -> Any:
    """The syntax tree of the unit in which the file is compiled; None where nothing compiles it."""
    from clang import cindex
    from heapwright.lint.compile import resource_arguments

    source = read_by(root, name)
    if not source:
        return None
    words = GCC_HEADERS.sub("", commands(root)[source]["command"]).split()
    kept = [w for w in words[1:] if re.match(r"-(I|D|std=|f(no-)?exceptions|f(no-)?rtti)", w)]
    external = [w for at, w in enumerate(words) if w == "-isystem" or words[at - 1] == "-isystem"]
    arguments = [
        "-x",
        "c" if source.endswith(".c") else "c++",
        *kept,
        *external,
        *resource_arguments()[0],
        "-w",
    ]
    return cindex.Index.create().parse(source, [a.replace('\\"', '"') for a in arguments])


def of_cpp(root: Path, name: str, text: bytes) -> list[Change]:
    tree = parsed(root, name)
    if tree is None:
        return []
    path = (root / name).resolve()
    found: dict[tuple[int, int, str], Change] = {}

    def visit(cursor: Any, is_statement: bool) -> None:
        for change in changes_at(cursor, name, text, is_statement):
            found[(change.begin, change.end, change.replace)] = change
        inside = str(cursor.kind).rpartition(".")[2] == "COMPOUND_STMT"
        for child in cursor.get_children():
            if str(child.kind).rpartition(".")[2] not in SKIPPED:
                visit(child, inside)

    for declaration in tree.cursor.get_children():
        place = declaration.location.file
        if place is not None and Path(place.name).resolve() == path:
            visit(declaration, is_statement=False)
    return list(found.values())


SKIPPED = {"STATIC_ASSERT", "ENUM_DECL", "USING_DECLARATION", "TYPE_ALIAS_DECL", "TEMPLATE_TYPE_PARAMETER"}
BINARY = {"BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"}
CONDITIONED = {"IF_STMT", "CONDITIONAL_OPERATOR"}
ORDERS = re.compile(rb"(?:std::)?memory_order_(?:acquire|release|acq_rel|seq_cst)$")
NUMBER = re.compile(rb"(\d[\d']*)([uUlLzZ]*)$")


def changes_at(cursor: Any, name: str, text: bytes, is_statement: bool) -> Iterator[Change]:
    kind = str(cursor.kind).rpartition(".")[2]
    begin, end, line = cursor.extent.start.offset, cursor.extent.end.offset, cursor.extent.start.line
    own = text[begin:end]
    if kind in BINARY:
        yield from operator_of(cursor, name, text)
    if kind == "UNARY_OPERATOR":
        for word in (b"++", b"--"):
            at = begin if own.startswith(word) else end - 2 if own.endswith(word) else -1
            if at >= 0:
                yield Change(name, line, at, at + 2, SWAPPED[word.decode()], "operator")
        if own.startswith(b"!"):
            yield Change(name, line, begin, begin + 1, "", "condition")
    if kind == "INTEGER_LITERAL" and (number := NUMBER.match(own)) and not own.startswith(b"0x"):
        more = int(number[1].replace(b"'", b"")) + 1
        yield Change(name, line, begin, end, f"{more}{number[2].decode()}", "bound")
    if kind == "CXX_BOOL_LITERAL_EXPR":
        yield Change(name, line, begin, end, "false" if own == b"true" else "true", "condition")
    if kind in CONDITIONED:
        yield from negated(cursor, name, text)
    if kind == "DECL_REF_EXPR" and ORDERS.match(own):
        yield Change(name, line, begin, end, "std::memory_order_relaxed", "memory order")
    if kind == "CALL_EXPR":
        yield from swapped_arguments(cursor, name, text)
    if is_statement and kind in {
        "CALL_EXPR",
        "BINARY_OPERATOR",
        "COMPOUND_ASSIGNMENT_OPERATOR",
        "UNARY_OPERATOR",
    }:
        yield Change(name, line, begin, end, "", "lost statement")


def operator_of(cursor: Any, name: str, text: bytes) -> Iterator[Change]:
    operands = list(cursor.get_children())
    if len(operands) != 2:
        return
    begin, end = operands[0].extent.end.offset, operands[1].extent.start.offset
    word = re.search(rb"[^\s()\w]+", text[begin:end])
    if word and (to := SWAPPED.get(word[0].decode())):
        line = cursor.extent.start.line + text[cursor.extent.start.offset : begin].count(b"\n")
        yield Change(name, line, begin + word.start(), begin + word.end(), to, "operator")


def negated(cursor: Any, name: str, text: bytes) -> Iterator[Change]:
    test = next(iter(cursor.get_children()), None)
    if test is None or str(test.kind).rpartition(".")[2] in {"VAR_DECL", "DECL_STMT", *BINARY}:
        return
    begin, end = test.extent.start.offset, test.extent.end.offset
    if not text[begin:end].startswith(b"!"):
        yield Change(name, test.extent.start.line, begin, end, f"!({text[begin:end].decode()})", "condition")


def swapped_arguments(cursor: Any, name: str, text: bytes) -> Iterator[Change]:
    """Two neighbours of one type, which the compiler takes in any order."""
    given = list(cursor.get_arguments())
    for left, right in pairwise(given):
        if left is None or right is None:
            continue
        one = text[left.extent.start.offset : left.extent.end.offset]
        two = text[right.extent.start.offset : right.extent.end.offset]
        middle = text[left.extent.end.offset : right.extent.start.offset]
        is_same = left.type.get_canonical().spelling == right.type.get_canonical().spelling
        if is_same and one != two and middle.strip() == b",":
            begin, end = left.extent.start.offset, right.extent.end.offset
            yield Change(name, left.extent.start.line, begin, end, (two + middle + one).decode(), "argument")
