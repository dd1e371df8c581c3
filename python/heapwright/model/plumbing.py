# SPDX-License-Identifier: MIT
"""Which frames are plumbing: between the allocator and the code that wanted memory.

A call site is the innermost frame that is not plumbing, so a change there is
a change in somebody's own code, and not in std::vector.
"""

from __future__ import annotations

import re
from functools import lru_cache

from heapwright.model import libraries, nested
from heapwright.model.names import bare_name
from heapwright.model.symbols import Location

# Allocators and the recorder: never anybody's site, not even as a last resort.
_ALLOCATOR_FUNCTION = re.compile(
    r"operator (?:new|delete)\b|(?:__libc_|__GI_|_?_?)(?:malloc|calloc|realloc|reallocarray|free|cfree"
    r"|memalign|aligned_alloc|posix_memalign|valloc|pvalloc)$|_int_(?:malloc|free|realloc|memalign)$|sysmalloc|tcache_"
    r"|malloc_(?:consolidate|hook|trim)|(?:__rustc::)?(?:__rust_|__rdl_|__rg_)"
    r"|<.+ as (?:\w+::)*GlobalAlloc>::"
)

# Language run times and the C library.
_RUNTIME_NAME = re.compile(
    r"(?:std|__gnu_cxx|__cxxabiv1|__gnu_debug|abi)::|(?:alloc|core|hashbrown)::|<(?:alloc|core|std|hashbrown)::"
    r"|__cxa_|__gnu_|heapwright::(?:un)?checked\w*::"  # the C++ parts
)
_RUNTIME_FILE = re.compile(r"/include/c\+\+/|/c\+\+/v\d/|/rustc/|/libstdc\+\+-v3/")

# zmalloc, xstrdup, PyMem_Malloc, sqlite3DbMallocRaw ...: named after what they wrap.
_WRAPPER = re.compile(r"\w*(?:malloc|calloc|memalign|zalloc|realloc|strdup|strndup|memdup)\w*", re.IGNORECASE)
_WRAPPER_NAMES = frozenset(
    "asprintf vasprintf getline getdelim g_slice_alloc g_slice_alloc0 PyObject_New _PyObject_New "
    "_PyObject_GC_New PyType_GenericAlloc _PyObject_GC_Alloc gc_alloc ggc_alloc ggc_internal_alloc "
    "ggc_internal_cleared_alloc _obstack_begin _obstack_newchunk".split()
)

# How Go calls C: runtime.asmcgocall.abi0, main._Cfunc_load.abi0, _cgo_0f2a_Cfunc_load. And C calls Go:
# crosscall2, runtime.cgocallback.abi0, _cgoexp_0f2a_goBack.
_GO_TO_C = re.compile(
    r"runtime\.(?:asm)?cgocall(?:back\w*)?|(?:[^\s()]+\.)?_C2?func_\w+|_cgo_\w+_C2?func_\w+|(?:[^\s()]+\.)?_cgo_cmalloc"
    r"|runtime\.systemstack\w*|crosscall2|_cgoexp_\w+"
)

_OWN_OPERATORS = ("::operator new", "::operator new[]")  # llvm::User::operator new, CHeapObj::operator new


def allocator_word(function: str) -> str:
    """What makes it an allocator's by its name, how that begins; empty of any other."""
    found = _ALLOCATOR_FUNCTION.match(function)
    return found[0] if found else ""


@lru_cache(maxsize=65536)
def _is_allocator_name(function: str) -> bool:
    return _ALLOCATOR_FUNCTION.match(function) is not None


def is_runtime_file(file: str) -> bool:
    """A header or source of a language run time."""
    return _RUNTIME_FILE.search(file) is not None


@lru_cache(maxsize=65536)
def is_runtime_name(function: str) -> bool:
    """Of a language run time, a nested allocator, or a wrapper named after malloc."""
    if function.startswith("<") and _RUNTIME_NAME.match(function):
        return True  # <alloc::vec::Vec<u8> as Clone>::clone
    name = bare_name(function)
    return (
        _RUNTIME_NAME.match(name) is not None
        or _calls_c(name)
        or is_wrapper_name(name)
        or nested.allocator_of(function) is not None
    )


def _calls_c(name: str) -> bool:
    is_likely = "cgo" in name or "func_" in name or name.startswith(("runtime.", "crosscall"))
    return is_likely and _GO_TO_C.fullmatch(name.removesuffix(".abi0")) is not None


def is_wrapper_name(bare: str) -> bool:
    """A bare name that is a wrapper's."""
    if bare in _WRAPPER_NAMES or bare.endswith(_OWN_OPERATORS):
        return True
    return _WRAPPER.fullmatch(bare.rsplit("::", 1)[-1]) is not None


def is_allocator(location: Location) -> bool:
    """Part of the allocator or of the recorder."""
    return libraries.is_allocator(location.library) or _is_allocator_name(location.function)


def is_plumbing(location: Location) -> bool:
    """Allocator, nested or not, language run time, C library, or a wrapper named after malloc."""
    if libraries.is_plumbing(location.library):
        return True
    if location.function.startswith(f"{location.library}+0x"):
        return False  # a place in a file, no name
    return (
        _is_allocator_name(location.function)
        or (location.file != "" and is_runtime_file(location.file))
        or is_runtime_name(location.function)
    )
