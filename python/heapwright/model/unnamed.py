# SPDX-License-Identifier: MIT
"""Names without what they say: hashes that the analysis takes for names of the same kind.

Which frames are plumbing, funnels, pools or of a container, and which pages are whose, is told by names.
So a hash keeps the word that tells: "std::vector::function_4f…", "pool_function_7a…", "libc.so.6".
"""

from __future__ import annotations

import re

from heapwright.model import libraries, plumbing
from heapwright.model.anonymous import Names
from heapwright.model.funnels import speaks_of_allocating
from heapwright.model.names import bare_name, short_name, template_arguments
from heapwright.model.nested import allocator_of
from heapwright.model.sites import OTHER_CONTEXTS
from heapwright.model.symbols import Location

# Names of mappings that the kernel gives in every program.
_KERNELS_OWN = frozenset("[heap] [stack] [vdso] [vvar] [vvar_vclock] [vsyscall] [uprobes]".split())
_NOT_FILES = frozenset((libraries.PYTHON, libraries.CONTEXT))  # what frames are in that are no code
_KERNELS_KIND = re.compile(r"\[(?:anon|anon_shmem):")
_SHARED_MEMORY = ("/dev/shm/", "/memfd:", "/SYSV", "/dev/zero")
_RECORDERS_MEMORY = "/memfd:heapwright"
_DELETED = " (deleted)"
_SYSTEM_FOLDERS = ("/usr/lib", "/lib")
# What follows the beginning of a known library's name in every system.
_VERSION = re.compile(r"(?:_minimal|-record|-count|-x86-64|-aarch64)?[\d.so-]*")

# How the analysis knows containers and pools (explain/advice), and what stands for them here.
_CONTAINERS = (
    (re.compile(r"_M_allocate_buckets|_M_rehash"), "_M_rehash_"),
    (re.compile(r"^std::(?:vector|_Vector_base|_Bvector_base)::"), "vector::"),
    (re.compile(r"^std::(?:basic_string|string|wstring)::"), "string::"),
    (re.compile(r"^std::(?:_Rb_tree|map|set|multimap|multiset)::"), "map::"),
    (
        re.compile(r"^std::(?:_Hashtable|unordered_\w+)::|^std::__detail::_Hashtable_alloc::"),
        "unordered_map::",
    ),
    (re.compile(r"^std::(?:list|_List_base|forward_list|_Fwd_list_base)::"), "list::"),
    (re.compile(r"^std::(?:deque|_Deque_base)::"), "deque::"),
)
_CONTROL_BLOCKS = frozenset(("std::__shared_count::__shared_count", "__shared_count"))
_HEADERS = frozenset(
    "stl_vector.h vector.tcc stl_bvector.h basic_string.h basic_string.tcc stl_tree.h stl_map.h stl_set.h "
    "hashtable.h hashtable_policy.h unordered_map.h unordered_set.h stl_list.h list.tcc forward_list.h "
    "forward_list.tcc stl_deque.h deque.tcc".split()
)
_IS_POOL = re.compile(
    r"(?:^|[_:]|(?<=[a-z]))(?:pool|palloc|arena|obstack|slab|zone|monotonic|bump)", re.IGNORECASE
)


class Unnamed:
    """Of one trace; equal names become equal, for as long as this lives."""

    def __init__(self, program: str) -> None:
        """program: its path."""
        self._names = Names()
        self._program = program.rpartition("/")[2]
        self._lines: dict[str, dict[int, int]] = {}

    def hashed(self, kind: str, name: str) -> str:
        """As Names has it."""
        return self._names.hashed(kind, name)

    def path(self, name: str) -> str:
        """Of an object or a mapping."""
        if not name or name in _KERNELS_OWN or name in _NOT_FILES:
            return name
        if name.startswith("["):
            kind = _KERNELS_KIND.match(name)
            return f"{kind[0] if kind else '['}{self.hashed('mapping', name)}]"
        stem = name.removesuffix(_DELETED)
        deleted = _DELETED if stem != name else ""
        if stem.startswith(_RECORDERS_MEMORY):
            return _RECORDERS_MEMORY + deleted
        for prefix in _SHARED_MEMORY:
            if stem.startswith(prefix):
                return prefix + self.hashed("memory", stem.removeprefix(prefix)) + _ending(stem) + deleted
        folder, slash, base = stem.rpartition("/")
        system = next(filter(folder.startswith, _SYSTEM_FOLDERS), "")
        return f"{system}{slash}{self.hashed('folder', folder)}{slash}{self.library(base)}{deleted}"

    def library(self, name: str) -> str:
        """A file name without its folder. Those of allocators and run times stay."""
        if name in _NOT_FILES:
            return name
        prefix = libraries.plumbing_prefix(name)
        if prefix and _VERSION.fullmatch(name.removeprefix(prefix)):
            return name
        kind = "program" if name == self._program else "library" if _ending(name) else "file"
        return (f"{prefix}_" if prefix else "") + self.hashed(kind, name) + _ending(name)

    def location(self, location: Location, place: str) -> Location:
        """The same, unnamed. place: what its function is called when it has no name."""
        if location.library == libraries.CONTEXT:
            hashed = self.hashed("context", location.function)
            return location if location == OTHER_CONTEXTS else location._replace(function=hashed)
        function, file, line, is_inlined, library = location
        is_unnamed = function.startswith(f"{library}+0x")
        return Location(
            place if is_unnamed else self.function(function),
            self.file(file),
            self._line(file, line),
            is_inlined,
            self.library(library),
        )

    def function(self, function: str) -> str:
        """A function's name."""
        word = plumbing.allocator_word(function)
        if word:
            return word if word == function else f"{word}({self.hashed('function', function)})"
        if allocator_of(function):
            return function  # of what everybody can read
        short, bare = short_name(function), bare_name(function)
        if bare in _CONTROL_BLOCKS:
            return bare + self._control_block(function) + f"({self.hashed('function', function)})"
        name = self._words(function, bare) + self.hashed("function", bare)
        if short != bare:
            name += f"<{self.hashed('type', short)}>"
        return name if function == short else f"{name}({self.hashed('full', function)})"

    def file(self, file: str) -> str:
        """A source file."""
        if not file:
            return ""
        base = file.rpartition("/")[2]
        folder = "/include/c++/" if plumbing.is_runtime_file(file) else ""
        hashed = self.hashed("file", file)
        return f"{folder}{hashed}/{base}" if base in _HEADERS else folder + hashed

    def _line(self, file: str, line: int) -> int:
        """Lines of a file by number, as they come."""
        of_file = self._lines.setdefault(file, {0: 0})
        return of_file.setdefault(line, len(of_file))

    def _words(self, function: str, bare: str) -> str:
        """What of the name the analysis goes by."""
        container = next((words for pattern, words in _CONTAINERS if pattern.search(bare)), "")
        if bare.startswith("heapwright::"):
            prefix = "heapwright::checked::" if plumbing.is_runtime_name(function) else "heapwright::"
        elif plumbing.is_runtime_name(function):
            is_wrapper = not container and plumbing.is_wrapper_name(bare)
            prefix = "malloc_wrapper_" if is_wrapper else "std::" + container
        else:
            prefix = container
        pool = "pool_" if _IS_POOL.search(bare) else ""
        allocates = speaks_of_allocating([Location(function, "", 0, False, "")])
        return prefix + pool + ("alloc_" if allocates else "")

    def _control_block(self, function: str) -> str:
        """What of the template arguments tells whose it is: whether it is one pointer."""
        arguments = template_arguments(function, "__shared_count")
        if not arguments:
            return ""
        is_pointer = len(arguments) == 1 and arguments[0].endswith("*")
        return f"<{self.hashed('type', ', '.join(arguments))}{'*' if is_pointer else ''}>"


def _ending(name: str) -> str:
    return ".so" if name.endswith(".so") or ".so." in name else ""
