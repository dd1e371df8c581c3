# SPDX-License-Identifier: MIT
# length: one document, section by section
"""docs/parts/performance.md, of bench/results/parts-*.json."""

from typing import Any

import documents
from heapwright.measure.statistics import Summary, best_with_evidence
from heapwright.report import markdown
from taken import as_is, fields, figure, grouped

ours = ("heapwright", "heapwright_compact")
Rows = dict[str, dict[str, dict[str, dict[str, float]]]]  # by name, library and field: the figure

vector_text = {
    "fill_mostly_small": "1,000 vectors, 50 % empty, 49 % one element, 1 % eight; per vector",
    "build_7_inline": "build a vector of 7 inline numbers; per element",
    "push_back_1000": "1,000 numbers into one vector; per element",
    "push_back_1000_bytes": "1,000 bytes into one vector; per element",
    "random_index": "dependent random `[]`; per access",
    "sum_inline": "sum 1,000 vectors of 3; per element",
    "move_inline": "move a vector of 4 inline numbers; per move",
    "insert_front_strings": "64 strings, each inserted at the front; per insertion",
}

bulk_text = {
    "copy_1000": "copy 1,000 numbers",
    "copy_assign_1000": "assign 1,000 numbers to as many",
    "append_61_chars": "append 61 bytes",
    "insert_16_in_the_middle": "insert 16 numbers in the middle of 64",
    "insert_8_strings": "insert 8 strings in the middle of 24",
    "assign_200_chars": "assign 200 equal bytes",
    "push_1000": "push 1,000 numbers one by one",
    "push_1000_reserved": "push 1,000 numbers, the room reserved before",
    "push_7_inline": "push 7 numbers inline, into a vector that is there",
    "build_7_inline": "build a vector of 7 inline numbers",
    "erase_first_8_of_64": "erase the first 8 of 64 numbers, append 8",
}


# Why a row is behind the best, whichever that is. A row without a reason is shown as one.
reasons = {
    "append_61_chars": "where the elements are and how many comes before the first byte",
    "assign_200_chars": "asked where the elements are, and whether there are any to write",
    "push_1000": "each push asks where the elements are; growth takes new memory and copies",
    "push_1000_reserved": "each push asks where the elements are",
    "push_7_inline": "each push asks where the elements are",
    "sum_inline": "each vector is asked where its elements are; others keep an address and are larger",
    "scope_of_3": "the thread's arena is looked up, and what to come back to is kept",
    "large_of_another_size": "each is a block of its own, kept by its size to be used again",
    "one_thread": "the thread's magazine is looked up",
    "two_threads": "the thread's magazine is looked up",
}
unknown_reason = "behind, cause unknown"
most_behind = 1.05


def load(name: str) -> Any:
    return documents.read(f"parts-{name}")["results"]


def behind_lines(
    by_name: dict[str, dict[str, float]], names: dict[str, str], ours: str, beside: tuple[str, ...] = ()
) -> list[str]:
    """The rows where ours is not within 1.05 of the best; `beside`: what is no part of that comparison."""
    lines = []
    for name, said in names.items():
        values = {library: ns for library, ns in by_name.get(name, {}).items() if library not in beside}
        if ours not in values:
            continue
        best = min(values, key=lambda library: values[library])
        times = values[ours] / values[best]
        if times > most_behind:
            reason = reasons.get(name, unknown_reason)
            lines.append(f"- {said}: {times:.2f} × the best ({best.replace('_', ' ')}); {reason}")
    return ["Where ours is not within 1.05 of the best:", "", *lines, ""] if lines else []


def medians(rows: Rows, field: str) -> dict[str, dict[str, float]]:
    return {
        name: {library: of[field]["median"] for library, of in by_library.items() if field in of}
        for name, by_library in rows.items()
    }


def summary_of(figure: dict[str, float]) -> Summary:
    """Without the ends, which do not decide on the best."""
    middle = figure["median"]
    return Summary(middle, figure["spread"], middle, middle, figure["noise"], int(figure["runs"]))


def marked_cells(rows: Rows, name: str, libraries: list[str]) -> list[str]:
    """The medians; the best bold where the runs show that it is. Not every library has every row."""
    values = {library: summary_of(of["ns"]) for library, of in rows.get(name, {}).items()}
    best = best_with_evidence(values, "lower", 0.0)
    texts = {
        x: f"**{found.median:.2f}**" if x in best else f"{found.median:.2f}" for x, found in values.items()
    }
    return [texts.get(library, "–") for library in libraries]


def vector_lines(rows: Rows) -> list[str]:
    by_name = medians(rows, "ns")
    fill = by_name["fill_mostly_small"]
    return [
        *library_lines(rows, "ns, median", vector_text),
        f"Filling mostly small vectors: {fill['std'] / fill['heapwright']:.1f} × as fast as `std::vector`.",
        "",
        *behind_lines(by_name, vector_text, "heapwright", beside=("heapwright_compact",)),
    ]


object_text = {
    "objects_first": "in a new process: mostly the kernel's first touch of each page",
    "objects_once": "with memory of its own each round",
    "objects_again": "the same memory round after round",
}


def library_lines(rows: Rows, head: str, names: dict[str, str]) -> list[str]:
    by_name = medians(rows, "ns")
    libraries = list(next(iter(by_name.values())))
    body = []
    for name, said in names.items():
        body.append([said, *marked_cells(rows, name, libraries)])
    return markdown.table([head, *libraries], body)


def row_lines(
    rows: Rows,
    head: str,
    names: dict[str, str],
    ours: str = "heapwright",
    beside: tuple[str, ...] = (),
) -> list[str]:
    """Rows that not every library has; how much slower ours is than the best, if it is."""
    by_name = medians(rows, "ns")
    libraries = list(dict.fromkeys(x for values in by_name.values() for x in values))
    body = [
        [said, *marked_cells(rows, name, libraries)]
        for name, said in names.items()
        if name in by_name  # else it is new since the last measurement
    ]
    lines = markdown.table([head, *(x.replace("_", " ") for x in libraries)], body)
    return [*lines, *behind_lines(by_name, names, ours, beside)]


def instruction_lines(rows: Rows) -> list[str]:
    by_name = medians(rows, "instructions")
    libraries = ["std", "heapwright", "boost", "llvm", "abseil"]
    body = []
    for name, said in bulk_text.items():
        least = min(by_name[name].values())
        counts = [by_name[name][library] for library in libraries]
        body.append([said, *(f"**{n:,.0f}**" if n == least else f"{n:,.0f}" for n in counts)])
    pushes = {library: by_name["push_1000_reserved"][library] / 1000 for library in ("heapwright", "std")}
    return [
        "Rows of one program counted by callgrind, with all that they call. At each push a small vector asks",
        "whether there is room, where its elements are, and counts in 32 bits; `std::vector` compares two",
        f"addresses. With room on the heap a push is {pushes['heapwright']:.0f} instructions,"
        f" {pushes['std']:.0f} in `std::vector`. Where the jumps lie matters more:",
        "one place more or less in the program changes the time of a row of pushes, of any library.",
        "",
        *markdown.table(["instructions", *libraries], body),
    ]


node_text = {
    "map": "`std::map` of 100,000 random keys, built and ended; per entry",
    "table": "`std::unordered_map` of them; per entry",
    "queue": "a list as a queue: one in at the end, one out at the front",
    "end_of_list": "the end of a list of 10⁶ numbers; per node",
}
node_memory_text = {
    "map": "`std::map` of 100,000 entries of two numbers",
    "table": "`std::unordered_map` of them",
    "list": "`std::list` of 100,000 numbers",
    "maps_of_4": "maps of 4 entries each",
    "maps_of_16": "maps of 16 entries each",
    "maps_of_64": "maps of 64 entries each",
    "tables_of_16": "unordered maps of 16 entries each",
}
pool_text = {
    "one_thread": "one thread",
    "two_threads": "two threads; CPU time of each",
}
string_text = {
    "package_database": "Debian's package database",
    "json_strings": "strings of JSON",
    "identifiers": "identifiers of C++",
    "paths": "paths of files",
}
string_work = {"make": "made and ended", "table": "counted in a hash table", "sort": "copied and sorted"}
class_text = {
    "class_one": "one object, made and deleted",
    "class_32": "32 made, 32 deleted; per object",
    "class_32_two_threads": "the same by two threads; CPU time of each per object",
}


arena_text = {
    "scope_of_3": "three allocations that end with a scope",
    "large_of_another_size": "100 blocks of 30,000 bytes after 8,000 of 20,000; per block",
    "small_cycle": "2,000 bytes taken and given back",
}


def class_lines(rows: Rows) -> list[str]:
    """Over the global heap that is there, and with our heap preloaded."""
    preloaded = "_preloaded"
    plain, linked = (
        {
            name: {
                library.removesuffix(preloaded): of
                for library, of in by_library.items()
                if library.endswith(preloaded) == is_linked
            }
            for name, by_library in rows.items()
        }
        for is_linked in (False, True)
    )
    lines = row_lines(plain, "ns, median", class_text)
    if any(linked.values()):
        lines += ["With heapwright's heap preloaded: `std` is its `operator new`.", ""]
        lines += row_lines(linked, "ns, median", class_text)
    return lines


def object_lines(rows: Rows) -> list[str]:
    lines = library_lines(rows, "ns per object, median", object_text)
    by_name = medians(rows, "ns")
    ratios = [f"{by_name[n]['std'] / by_name[n]['heapwright']:.1f}" for n in object_text]
    return [
        *lines,
        f"An arena is {ratios[0]}, {ratios[1]} and {ratios[2]} × as fast as `new` and `delete`.",
        "",
    ]


def arena_lines() -> list[str]:
    return [
        "Small uses; `pmr` is a monotonic resource, in the scope with room on the stack.",
        "",
        *row_lines(load("arenas"), "ns, median", arena_text),
    ]


def buffer_lines(rows: Rows) -> list[str]:
    names = {
        f"one_buffer/{n}": f"one buffer of {n:,} bytes, taken and given back" for n in (100, 20000, 200000)
    }
    names["many_buffers"] = "the poisoning load, each page written; per step"
    return library_lines(rows, "ns, median", names)


def figure_lines(found: dict[str, Any]) -> list[str]:
    body = []
    for row in found["caches"]:
        percents = [f"{row['hit_percent']:.1f}", f"{row['used_percent']:.1f}"]
        body.append([row["policy"], row["load"], *percents, f"{row['peak_retained_bytes']:,}"])
    lines = ["### What is reused of how much, on the poisoning load", ""]
    lines += markdown.table(["policy", "load", "hits %", "used %", "most bytes held"], body)
    pool = found["pool"]
    lines += ["## object_pool after one spike in each of 1,000 objects", ""]
    lines += markdown.table(
        ["", "bytes retained"], [[name.replace("_", " "), f"{n:,}"] for name, n in pool.items()]
    )
    return lines


def size_lines(sizes: dict[str, dict[str, int]]) -> list[str]:
    libraries = list(next(iter(sizes.values())))
    body = [[f"room for {what}", *(str(row[x]) for x in libraries)] for what, row in sizes.items()]
    return markdown.table(["bytes of an empty vector", *libraries], body)


def compile_lines(rows: dict[str, dict[str, dict[str, float]]]) -> list[str]:
    body = [
        [library, f"{of['cpu_seconds']['median']:.2f}", f"{of['text_bytes']['median']:.0f}"]
        for library, of in rows.items()
    ]
    return markdown.table(["library", "CPU seconds to compile", "bytes of code"], body)


def string_lines(lengths: dict[str, dict[str, int]]) -> list[str]:
    """How long the strings of real texts are, and whether more inline room is worth it."""
    body = []
    for text, said in string_text.items():
        row = lengths[text]
        shares = [100 * row[f"up_to_{n}"] / row["strings"] for n in (15, 23, 55)]
        body.append([said, f"{row['strings']:,}", *(f"{share:.1f}" for share in shares)])
    names = {
        f"{work}_{t}": f"{said}, {what}"
        for t, said in string_text.items()
        for work, what in string_work.items()
    }
    return [
        "## Strings with more inline room",
        "",
        "`inline 24` is `small_vector<char, 24>`, as large as `std::string` (32 bytes) and without a",
        "terminating zero: no `small_string` of that size could hold more. `inline 56` takes 64 bytes.",
        "",
        *markdown.table(["text", "strings", "up to 15 bytes, %", "up to 23, %", "up to 55, %"], body),
        *row_lines(load("strings"), "ns per string, median", names, ours=""),
    ]


def memory_lines(found: dict[str, dict[str, dict[str, float]]]) -> list[str]:
    libraries = list(dict.fromkeys(x for row in found.values() for x in row))
    body = []
    for name, row in found.items():
        texts = {x: f"{bytes_of['heap']:.1f} / {bytes_of['resident']:.1f}" for x, bytes_of in row.items()}
        body.append([node_memory_text[name], *(texts.get(library, "–") for library in libraries)])
    return [
        "Each in a process of its own: what the heap gave out, and what became resident.",
        "",
        *markdown.table(
            ["bytes per element, heap / resident", *(x.replace("_", " ") for x in libraries)], body
        ),
    ]


def drain_lines() -> list[str]:
    of = load("drain")
    return [
        f"`drain({of['budget_ms']} ms)` behind a background thread that frees the same queue:"
        f" {of['median_ms']['median']:.2f} ms in the median, at most {of['worst_ms']['high']:.2f} ms in"
        f" {of['calls']:,} calls.",
    ]


def machine_lines(documents_of: dict[str, dict[str, Any]]) -> list[str]:
    """One line, or one for each results file where they come from several machines."""
    said, loads = {}, []
    for name, found in documents_of.items():
        machine = found["machine"]
        said[name] = f"{machine['cores']} cores, {machine['cpu']}; {machine['compiler']}, -O2"
        loads += [machine["load_before"], machine["load_after"]]
    load = f"Load average {min(loads)} to {max(loads)} before and after."
    if len(set(said.values())) == 1:
        return [f"Machine: {next(iter(said.values()))}. {load}"]
    return [
        "The results come from several machines:",
        "",
        *(f"- {n}: {x}" for n, x in said.items()),
        "",
        load,
    ]


def pool_sections(found: dict[str, Any]) -> list[str]:
    return [
        "## node_pool",
        "",
        "`heapwright` is `pooled<C>`, which ends at once; `one by one` frees each node. Abseil's row is",
        "`btree_map`, what to use instead where addresses need not be stable.",
        "",
        *row_lines(load("nodes"), "ns, median", node_text, beside=("abseil",)),
        *memory_lines(found["node_bytes"]),
        "## shared_object_pool",
        "",
        "An object with a vector of 16 numbers, taken, filled and given back; `std` makes it each time.",
        "",
        *row_lines(load("shared_pool"), "ns, median", pool_text, "shared_object_pool"),
        "## class_heap",
        "",
        *class_lines(load("class_objects")),
    ]


def render() -> str:
    documents_of = {name: documents.read(name) for name in sorted(TAKEN) if documents.is_there(name)}
    found = load("figures")
    lines = [
        "# How fast the parts are",
        "",
        "Made by `bench/render.py` from the results in `bench/results/`, which",
        "`bench/parts/measure.py` writes: one process for each library, in turns, medians.",
        "Lower is better; bold is the best and what equals it within the noise, where something is worse",
        "beyond it.",
        "",
        documents.said(documents_of.values()),
        "",
        *machine_lines(documents_of),
        "Libraries as in Debian 12: Boost 1.74, Abseil 20220623, LLVM 19, foonathan/memory,",
        "moodycamel::ConcurrentQueue, liburcu (`defer_rcu`).",
        "",
        "## small_vector",
        "",
        *vector_lines(load("vectors")),
        "### In bulk",
        "",
        "All libraries in one program, in random order.",
        "",
        *row_lines(load("vectors_bulk"), "ns, median", bulk_text),
        "#### Instructions",
        "",
        *instruction_lines(load("instructions")),
        "### Size",
        "",
        "Abseil needs room for one element at least.",
        "",
        *size_lines(found["sizes"]),
        "### Build time and code size",
        "",
        "One function that pushes, inserts, erases and resizes.",
        "",
        *compile_lines(load("compile")),
        *string_lines(found["string_lengths"]),
        "## arena",
        "",
        "100,000 objects of 104 bytes, made and then freed together.",
        "",
        *object_lines(load("objects")),
        *arena_lines(),
        *pool_sections(found),
        "## buffer_cache",
        "",
        *buffer_lines(load("buffers")),
        *figure_lines(found),
        "## deferred_free",
        "",
        *library_lines(load("deferred"), "ns, median", {"enqueue": "put one object on the queue"}),
        f"`deferred_free` takes {found['defer_instructions']:.1f} instructions for it (callgrind).",
        "",
        *drain_lines(),
    ]
    return "\n".join(lines).rstrip() + "\n"


def drain(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """All runs' times, and how many calls they made."""
    times = grouped(but=("budget_ms", "calls"))(runs)
    return {"budget_ms": runs[0]["budget_ms"], "calls": sum(run["calls"] for run in runs), **times}


TIMED = (
    *("arenas", "buffers", "class_objects", "deferred", "nodes", "objects", "shared_pool"),
    *("strings", "vectors", "vectors_bulk"),
)
ranked = figure("median", "spread", "noise", "runs")  # what deciding on the best takes
by_library = fields({"results": grouped("name", "library", take=ranked)})
TAKEN = {
    **{f"parts-{name}": by_library for name in TIMED},
    "parts-instructions": fields({"results": grouped("name", "library")}),
    "parts-compile": fields({"results": grouped("library")}),
    "parts-drain": fields({"results": drain}),
    "parts-figures": as_is,
}
BLOCKS = [documents.whole("docs/parts/performance.md", render)]
