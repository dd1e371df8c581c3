# SPDX-License-Identifier: MIT
"""Allocators inside programs: they get blocks from malloc, and their callers want the memory.

TABLE lists them. Their functions are plumbing, so the site is their caller, shown as "through palloc". Other
functions are found by their callers (funnels.py), or named with --skip. What only wraps malloc under another
name (xmalloc, g_strdup) is in plumbing.py: nothing is said of it.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from heapwright.model.names import bare_name, short_name


class NestedAllocator(NamedTuple):
    """begins: how names may begin, for speed. functions: whole names, as a regular expression.

    is_shared: a block is cut into pieces, and later callers get the others.
    maps: how functions begin that map memory for the objects of all callers: these stay call sites, as who
    needed the next mapping says little.
    switch: the setting, NAME=VALUE, with which the objects are blocks of malloc; "": there is none.
    runtime: the language, as recordings list it, where the functions that map may lack names.
    """

    name: str
    begins: tuple[str, ...]
    functions: str
    is_shared: bool = True
    maps: tuple[str, ...] = ()
    switch: str = ""
    runtime: str = ""


TABLE = (
    NestedAllocator(
        "PostgreSQL's memory contexts",
        tuple(
            "palloc repalloc pstr pnstr psprintf pvsn Memory AllocSet Slab Generation Bump DynaHash".split()
        ),
        r"palloc(?:0|_\w+|0_\w+)?|repalloc(?:0|_\w+)?|pstrdup|pnstrdup|psprintf|pvsnprintf"
        r"|MemoryContext(?:Alloc\w*|StrdupInternal|Strdup|Create)|AllocSet\w+|Slab(?:Alloc|Context)\w*"
        r"|Generation(?:Alloc|Context|Realloc)\w*|Bump(?:Alloc|Context)\w*|DynaHashAlloc",
    ),
    NestedAllocator(
        "APR's pools",
        ("apr_",),
        r"apr_(?:palloc|pcalloc|pmemdup|pstrdup|pstrndup|pstrmemdup|pstrcatv?|array_pstrcat|pv?sprintf|allocator_alloc"
        r"|pool_create\w*)(?:_debug)?",
    ),
    NestedAllocator(
        "nginx's pools",
        ("ngx_",),
        r"ngx_(?:p[nc]?alloc(?:_small|_block|_large)?|pmemalign|create_pool|pstrdup|create_temp_buf"
        r"|alloc_chain_link|alloc|calloc|memalign|slab_c?alloc(?:_locked)?)",
    ),
    NestedAllocator(
        "PHP's memory manager",
        ("_e", "_safe_", "zend_arena_"),
        r"_e(?:malloc|calloc|realloc|realloc2|strdup|strndup)(?:_\d+|_large|_huge)?"
        r"|_safe_(?:emalloc|erealloc|malloc|realloc)|zend_arena_\w+",
        maps=("zend_mm_", "_emalloc", "zend_hash"),
        switch="USE_ZEND_ALLOC=0",
        runtime="PHP",
    ),
    NestedAllocator(
        "CPython's pymalloc",
        ("Py", "_Py", "pymalloc_"),
        r"_?Py(?:Object|Mem)_(?:Raw)?(?:Malloc|Calloc|Realloc)|pymalloc_(?:alloc|realloc)|_PyObject_GC_New\w*",
        maps=("_PyObject_Arena", "_PyMem_Arena", "new_arena", "_PyObject_Malloc"),
        switch="PYTHONMALLOC=malloc",
        runtime="Python",
    ),
    NestedAllocator(
        "talloc",
        ("talloc", "_talloc", "__talloc", "tc_"),
        r"_?talloc(?!_free|_unlink)(?:_\w+)?|__talloc\w*|tc_alloc_pool",  # freeing calls back
        is_shared=False,
    ),
    NestedAllocator(
        "GLib's slices and GObject",
        ("g_slice_", "g_type_", "g_object_new"),
        r"g_slice_(?:alloc0?|copy)|g_type_create_instance|g_object_new(?:v|_\w+)?",
        switch="G_SLICE=always-malloc",
    ),
    NestedAllocator(
        "obstacks",
        ("obstack_", "_obstack_", "call_chunkfun"),
        r"_?obstack_(?:begin\w*|newchunk|memory_used)|call_chunkfun",
    ),
    NestedAllocator(
        "std::pmr resources",
        ("std::pmr::",),
        r"std::pmr::(?:monotonic_buffer_resource|(?:un)?synchronized_pool_resource|__pool_resource)::\S+"
        r"|(?:.*::)?do_allocate",  # what a resource of the program's own must have
    ),
    NestedAllocator(
        "SQLite",
        ("sqlite3", "pcache1"),
        r"sqlite3(?:_(?:malloc|realloc)(?:64)?|_v?mprintf|Malloc(?:Zero)?|Realloc|Db(?:Malloc|Realloc|Str)\w*)"
        r"|pcache1(?:Alloc|InitBulk|AllocPage)",
        is_shared=False,
    ),
    NestedAllocator("libxml2's dictionaries", ("xmlDict",), r"xmlDict(?:Add\w+|Q?Lookup|Grow|Exists)"),
    NestedAllocator(
        "libxml2", ("xml",), r"xml(?:Mem)?(?:Malloc|Realloc|Str\w*dup)\w*|xmlMallocLoc", is_shared=False
    ),
)

LIBRARIES = ("libstdc++", "libc++.", "libc.so", "libc-")  # run times with functions of the table

_BEGINS = tuple(begin for entry in TABLE for begin in entry.begins)
_OWN_RESOURCE = "do_allocate"


@lru_cache(maxsize=65536)
def allocator_of(function: str) -> NestedAllocator | None:
    """Whose function it is; None: of none in the table.

    >>> allocator_of("palloc0").name
    "PostgreSQL's memory contexts"
    >>> allocator_of("std::pmr::monotonic_buffer_resource::do_allocate(unsigned long, unsigned long)").name
    'std::pmr resources'
    >>> allocator_of("parse")
    """
    bare = bare_name(function)
    return of_bare_name(bare if bare.startswith("std::") else bare.partition(".")[0])  # palloc.part.0


def spoken(function: str) -> str:
    """Its short name; of a class of the standard library that one.

    >>> spoken("palloc"), spoken("std::pmr::synchronized_pool_resource::do_allocate(unsigned long)")
    ('palloc', 'std::pmr::synchronized_pool_resource')
    """
    name = short_name(function)
    return name.rpartition("::")[0] if name.startswith("std::") else name


@lru_cache(maxsize=65536)
def of_bare_name(bare: str) -> NestedAllocator | None:
    """The same of a name without parameters and template arguments."""
    is_own = bare.endswith(_OWN_RESOURCE)
    if not bare.startswith(_BEGINS) and not is_own:  # nearly always
        return None
    likely = (entry for entry in TABLE if is_own or bare.startswith(entry.begins))
    return next((entry for entry in likely if _pattern(entry.functions).fullmatch(bare)), None)


@cache
def _pattern(functions: str) -> re.Pattern[str]:
    return re.compile(functions)  # which takes longer than everything else here


def mapper(function: str, runtime: str, is_of_runtime: bool) -> NestedAllocator | None:
    """Of which allocator a function maps memory for all callers; None: of none of that language.

    is_of_runtime: a function without a name, in a file of the language.

    >>> mapper("_PyObject_ArenaMmap", "Python", False).switch
    'PYTHONMALLOC=malloc'
    >>> mapper("new_mmap_object", "Python", False)
    """
    for entry in TABLE:
        if entry.maps and entry.runtime == runtime and (function.startswith(entry.maps) or is_of_runtime):
            return entry
    return None
