# SPDX-License-Identifier: MIT
"""Programs of random classes, each made by functions that are named after it."""

import random

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
# What becomes of the pointer; `kept` is a pointer to the base where there is one of the same size.
USES = (
    "{kept} pointer = {made}; sink(pointer);",
    "sink({made});",
    "auto pointer = {made}; if (one) sink(pointer);",
    "static {kept} keeps; keeps = {made}; sink(keeps);",
    "std::vector<{kept}> all; all.push_back({made}); sink(all[0]);",
)


def program(seed: int, classes: int) -> tuple[str, dict[str, str]]:
    """The source, and by function which type it makes."""
    drawn = random.Random(seed)
    definitions, functions, calls, types = [], [], [], {}
    for number in range(classes):
        kind = drawn.choice(sorted(KINDS))
        definition, made, written = KINDS[kind]
        member = drawn.choice(MEMBERS)
        values = {
            "name": f"Made{number}",
            "member": member,
            "plain": "long" if member == "std::string" else member,
            "count": drawn.randrange(1, 9),
        }
        type_name, made = written.format(**values), made.format(**values)
        kept = f"BaseMade{number}*" if kind.startswith("same") else f"{type_name}*"
        definitions.append(definition.format(**values))
        use = drawn.choice(USES).format(kept=kept, made=made)
        functions.append(f"__attribute__((noinline)) void use_{number}() {{ {use} }}")
        functions.append(f"__attribute__((noinline)) {kept} give_{number}() {{ return {made}; }}")
        calls.append(f"use_{number}(); sink(give_{number}());")
        types |= dict.fromkeys((f"use_{number}()", f"give_{number}()"), type_name)
    lines = [HEAD, *definitions, *functions, "int main() {", *calls, "}"]
    return "\n".join(lines) + "\n", types
