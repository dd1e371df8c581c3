# SPDX-License-Identifier: MIT
"""Programs of random classes, each made by functions that are named after it."""

import random
from collections.abc import Mapping

HEAD = """
#include <string>
#include <vector>
static void* volatile last;
__attribute__((noinline)) void sink(const void* given) { last = const_cast<void*>(given); }
__attribute__((noinline)) int next_of(int number) { return number + 1; }
volatile int one = 1;
"""
MEMBERS = ("int", "double", "char", "void*", "std::string")
# Of each kind: its definition, the expression that makes one, and how the class is written.
KINDS = {
    "trivial": ("struct {name} {{ {plain} data[{count}]; }};", "new {name}", "{name}"),
    "aggregate": (
        "namespace inner {{ struct {name} {{ int first; {member} data[{count}]; }}; }}",
        "new inner::{name}{{one, {{}}}}",
        "inner::{name}",
    ),
    "arguments": (
        "struct {name} {{ {member} data[{count}]; std::size_t size;"
        " {name}(int add, const std::string& text) : size(text.size() + add) {{}} }};",
        'new {name}(next_of(one), std::string("text") + std::to_string(one))',
        "{name}",
    ),
    "outside": (
        "struct {name} {{ {member} data[{count}]; int sum; {name}(int); }};"
        " __attribute__((noinline)) {name}::{name}(int start) : sum(start) {{}}",
        "new {name}(next_of(one))",
        "{name}",
    ),
    "virtual": (
        "struct {name} {{ virtual ~{name}() {{}} {member} data[{count}]; int sum = one; }};",
        "new {name}",
        "{name}",
    ),
    "derived": (
        "struct Base{name} {{ virtual ~Base{name}() {{}} {member} data[{count}]; int sum = one; }};"
        " struct {name} : Base{name} {{ {member} more; {name}(int start) {{ sum = start; }} }};",
        "new {name}(one)",
        "{name}",
    ),
    "same size, virtual": (
        "struct Base{name} {{ virtual ~Base{name}() {{}} {member} data[{count}]; int sum = one; }};"
        " struct {name} : Base{name} {{ }};",
        "new {name}",
        "{name}",
    ),
    "same size": (
        "struct Base{name} {{ {member} data[{count}]; int sum = one; }}; struct {name} : Base{name} {{ }};",
        "new {name}",
        "{name}",
    ),
    "same size, constructed": (
        "struct Base{name} {{ {member} data[{count}]; int sum = one; }};"
        " struct {name} : Base{name} {{ {name}() {{ sum = 5; }} }};",
        "new {name}",
        "{name}",
    ),
    "template": (
        "template <typename T> struct {name} {{ T data[{count}]; {name}* next;"
        " {name}(T value, {name}* after) : next(after) {{ data[0] = value; }} }};",
        "new {name}<double>(one, nullptr)",
        "{name}<double>",
    ),
    "wrapping": (
        "struct Inner{name} {{ {member} data[{count}]; Inner{name}() : data() {{}} }};"
        " struct {name} {{ Inner{name} first; {name}() {{ sink(this); }} }};",
        "new {name}",
        "{name}",
    ),
}
# Arrays, and bytes that are used as one.
ARRAYS = {
    "array": (
        "struct {name} {{ {plain} data[{count}]; {plain} more; }};",
        "new {name}[one + 4]",
        "{name}[]",
    ),
    "array, zeros": (
        "struct {name} {{ {plain} data[{count}]; {plain} more; }};",
        "new {name}[one + 4]()",
        "{name}[]",
    ),
    "array, constructed": (
        "struct {name} {{ {plain} data[{count}]; int sum; {name}() : sum(one) {{}} }};",
        "new {name}[one + 4]",
        "{name}[]",
    ),
    "array, destroyed": (
        "struct {name} {{ {member} data[{count}]; int sum; {name}() : sum(one) {{}} ~{name}() {{ sink(this); }} }};",
        "new {name}[one + 4]",
        "{name}[]",
    ),
    "array, constructed outside": (
        "struct {name} {{ std::string text; {member} data[{count}]; {name}(); }};"
        " __attribute__((noinline)) {name}::{name}() : text(one, 'x') {{}}",
        "new {name}[one + 4]",
        "{name}[]",
    ),
    "array, constant": (
        "struct {name} {{ std::string text; {member} data[{count}]; }};",
        "new {name}[7]",
        "{name}[]",
    ),
    "array, virtual": (
        "struct {name} {{ virtual ~{name}() {{}} {member} data[{count}]; int sum = one; }};",
        "new {name}[one + 4]",
        "{name}[]",
    ),
    "same size, array": (
        "struct Base{name} {{ {member} data[{count}]; int sum = one; }}; struct {name} : Base{name} {{ }};",
        "new {name}[one + 4]",
        "{name}[]",
    ),
    "larger, array": (
        "struct Base{name} {{ {member} data[{count}]; int sum = one; }};"
        " struct {name} : Base{name} {{ {member} more[2]; {name}() {{ more[0] = {{}}; }} }};",
        "new {name}[one + 4]",
        "{name}[]",
    ),
    "bytes": (
        "struct {name} {{ {plain} data[{count}]; {plain} more; }};",
        "reinterpret_cast<{name}*>(new char[(one + 4) * sizeof({name}) + 8])",
        "char[]",
    ),
    "bytes, constant": (
        "struct {name} {{ {plain} data[{count}]; {plain} more; }};",
        "reinterpret_cast<{name}*>(new char[16 * sizeof({name})])",
        "char[]",
    ),
}
# What becomes of the pointer; `kept` is a pointer to the base where there is one of the same size.
USES = (
    "{kept} pointer = {made}; sink(pointer);",
    "sink({made});",
    "auto pointer = {made}; if (one) sink(pointer);",
    "static {kept} keeps; keeps = {made}; sink(keeps);",
    "std::vector<{kept}> all; all.push_back({made}); sink(all[0]);",
)


def program(seed: int, classes: int, kinds: Mapping[str, tuple[str, str, str]]) -> tuple[str, dict[str, str]]:
    """The source, and by function which type it makes. kinds: KINDS, ARRAYS."""
    drawn = random.Random(seed)
    definitions, functions, calls, types = [], [], [], {}
    for number in range(classes):
        kind = drawn.choice(sorted(kinds))
        definition, made, written = kinds[kind]
        member = drawn.choice(MEMBERS)
        values = {
            "name": f"Made{number}",
            "member": member,
            "plain": "long" if member == "std::string" else member,
            "count": drawn.randrange(1, 9),
        }
        type_name, made = written.format(**values), made.format(**values)
        kept = f"{written.format(**values).removesuffix('[]')}*"
        if kind.startswith(("same", "larger")):
            kept = f"BaseMade{number}*"
        if kind.startswith("bytes"):
            kept = f"Made{number}*"
        definitions.append(definition.format(**values))
        use = drawn.choice(USES).format(kept=kept, made=made)
        functions.append(f"__attribute__((noinline)) void use_{number}() {{ {use} }}")
        functions.append(f"__attribute__((noinline)) {kept} give_{number}() {{ return {made}; }}")
        calls.append(f"use_{number}(); sink(give_{number}());")
        types |= dict.fromkeys((f"use_{number}()", f"give_{number}()"), type_name)
    lines = [HEAD, *definitions, *functions, "int main() {", *calls, "}"]
    return "\n".join(lines) + "\n", types
