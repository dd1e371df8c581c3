# SPDX-License-Identifier: MIT
"""Where the functions are defined that a header declares: in the .cpp of its name.

Another .cpp that defines one would be a way from the header to all that this .cpp
includes, which no include shows. The functions of a class may stand in several.
"""

import re
from pathlib import Path

PROCESSOR = re.compile("_(?:x86_64|aarch64)$")  # a header may have one file for each
COMMENT = re.compile(r"//.*")
UNNAMED = re.compile(r"^namespace \{\n.*?^\}", re.MULTILINE | re.DOTALL)
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.MULTILINE)
FUNCTION = r"^(?!static|inline|using|typedef|extern)[A-Za-z[][\w:<>,*&[\] ]*?[ *&](\w+)\([^;{}]*\)[\w ]*"
DECLARED = re.compile(FUNCTION + ";", re.MULTILINE)
DEFINED = re.compile(FUNCTION + r"\{", re.MULTILINE)
# Headers whose functions stand in several files on purpose.
SEVERAL = {
    "src/trace/record_codec.hpp": "the two directions of one format, a file each",
    "src/trace/copies.hpp": "two kinds of copy with one contract",
    "src/heap/base/rights.hpp": "a weak function, and the one that the shared library puts in its place",
}


def check_definitions(root: Path) -> list[str]:
    files = sorted((root / "src").rglob("*.[ch]pp"))
    texts = {path: COMMENT.sub("", path.read_text(encoding="utf-8")) for path in files}
    headers: dict[tuple[str, str], set[Path]] = {}
    for path, text in texts.items():
        if path.suffix == ".hpp":
            for function in DECLARED.findall(text):
                headers.setdefault((namespace_of(text), function), set()).add(path)
    problems: dict[str, None] = {}
    for path, text in texts.items():
        if path.suffix != ".cpp":
            continue
        for function in DEFINED.findall(UNNAMED.sub("", text)):
            declared_in = headers.get((namespace_of(text), function), set())
            names = {header.relative_to(root).as_posix() for header in declared_in}
            header = path.with_name(PROCESSOR.sub("", path.stem) + ".hpp")
            if names and header not in declared_in and not names & SEVERAL.keys():
                where = " and ".join(sorted(names))
                name = path.relative_to(root).as_posix()
                problems[f"{name}: defines {function}, declared in {where}"] = None
    return list(problems)


def namespace_of(text: str) -> str:
    found = NAMESPACE.search(text)
    return found.group(1) if found else ""
