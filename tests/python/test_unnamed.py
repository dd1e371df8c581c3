# SPDX-License-Identifier: MIT
"""A hash is of the same kind as the name that it stands for: the analysis sees no difference."""

from __future__ import annotations

import pytest
from heapwright.explain.advice import containers
from heapwright.explain.pool_names import is_pool
from heapwright.model import libraries, plumbing
from heapwright.model.funnels import speaks_of_allocating
from heapwright.model.names import short_name
from heapwright.model.symbols import Location
from heapwright.model.unnamed import _HEADERS, Unnamed
from heapwright.model.unnamed_metadata import unnamed_metadata

FUNCTIONS = """
main
acme::Secret::run(int)
acme::Secret::run(long)
std::vector<acme::Secret, std::allocator<acme::Secret> >::push_back(acme::Secret const&)
void std::vector<acme::Secret>::_M_realloc_insert<acme::Secret>(int, acme::Secret&&)
std::vector<acme::Secret>::operator=(std::vector<acme::Secret> const&)
std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create(unsigned long&, unsigned long)
std::_Rb_tree<acme::Key, acme::Secret>::_M_insert_(int)
std::_Hashtable<acme::Key>::_M_rehash(unsigned long)
std::__detail::_Hashtable_alloc<acme::Node>::_M_allocate_node()
_M_allocate_buckets
std::deque<acme::Secret>::_M_push_back_aux()
std::__shared_count<(__gnu_cxx::_Lock_policy)2>::__shared_count<acme::Secret*>(acme::Secret*)
std::__shared_count<(__gnu_cxx::_Lock_policy)2>::__shared_count<acme::Secret, std::allocator<void> >(int)
__shared_count<acme::Secret*>
__shared_count
heapwright::object_pool<acme::Secret>::take()
heapwright::checked_v1::arena::allocate(unsigned long)
operator new(unsigned long)
operator new[](unsigned long, std::align_val_t)
acme::Secret::operator new(unsigned long)
malloc
__libc_calloc
_int_malloc
tcache_secret
zmalloc
acme_xstrdup
acme_palloc
acme::SecretPool::take()
acme::Secret::grow(int)
secret_arena_get_memory
__rust_alloc
<alloc::vec::Vec<acme::Secret> as core::clone::Clone>::clone
acme::{lambda(acme::Secret)#1}::operator()(acme::Secret) const
main.(*Secret).Run
__cxa_secret
""".strip().splitlines()
FILES = (
    "",
    "/home/acme/secret.cpp",
    "/usr/include/c++/12/bits/stl_vector.h",
    "/usr/include/c++/12/secret.h",
    "/home/acme/hashtable.h",
)
PATHS = """
/home/acme/bin/secret
/usr/lib/x86_64-linux-gnu/libsecret.so.1.2
/lib/x86_64-linux-gnu/libc.so.6
/lib64/ld-linux-x86-64.so.2
/opt/acme/libjemalloc.so.2
/opt/acme/libjemalloc-secret.so.2
/opt/acme/libstdc++.so.6.0.30
/opt/heapwright/lib/libheapwright-record.so
/dev/shm/secret
/memfd:secret (deleted)
/memfd:heapwright-secret (deleted)
/SYSV00secret (deleted)
/dev/zero (deleted)
/tmp/secret.so (deleted)
/home/acme/secret.db
[heap]
[stack]
[anon:secret cache]
""".strip().splitlines()
TUNABLES = "GLIBC_TUNABLES\tglibc.malloc.arena_max=2:glibc.secret=3"
SECRETS = ("secret", "Secret", "acme", "Key", "Node")


@pytest.fixture
def unnamed() -> Unnamed:
    return Unnamed("/home/acme/bin/secret")


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("library", ["secret", "libsecret.so.1", "libc.so.6", "libjemalloc.so.2"])
def test_a_hash_is_of_the_same_kind(unnamed: Unnamed, function: str, file: str, library: str) -> None:
    named = Location(function, file, 7 if file else 0, False, library)
    hashed = unnamed.location(named, "")
    assert [secret for secret in SECRETS if secret in repr(hashed)] == []
    assert plumbing.is_plumbing(hashed) == plumbing.is_plumbing(named)
    assert plumbing.is_allocator(hashed) == plumbing.is_allocator(named)
    assert containers.kind_of(hashed) == containers.kind_of(named)
    if not plumbing.is_plumbing(named):
        assert speaks_of_allocating([hashed]) == speaks_of_allocating([named])
    assert is_pool(hashed.function) == is_pool(function)
    assert (hashed.line, bool(hashed.file)) == (1 if file else 0, bool(file))
    assert unnamed.location(named, "") == hashed


def test_different_names_stay_different(unnamed: Unnamed) -> None:
    assert len({unnamed.function(name) for name in FUNCTIONS}) == len(FUNCTIONS)
    first, second = (unnamed.function(f"acme::Secret::run({one})") for one in ("int", "long"))
    assert short_name(first) == short_name(second) != first
    assert len({unnamed.path(path) for path in PATHS}) == len(PATHS)
    lines = [unnamed.location(Location("f", "a.cpp", line, False, ""), "").line for line in (9, 4, 9, 70000)]
    assert lines == [1, 2, 1, 3]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_of_the_same_kind(unnamed: Unnamed, path: str) -> None:
    hashed = unnamed.path(path)
    assert [secret for secret in SECRETS if secret in hashed] == []
    name, hashed_name = (text.removesuffix(" (deleted)").rpartition("/")[2] for text in (path, hashed))
    assert hashed.endswith(" (deleted)") == path.endswith(" (deleted)")
    assert (name.endswith(".so") or ".so." in name) == (hashed_name.endswith(".so") or ".so." in hashed_name)
    assert libraries.is_plumbing(hashed_name) == libraries.is_plumbing(name)
    assert libraries.is_allocator(hashed_name) == libraries.is_allocator(name)
    for prefix in (
        "[",
        "/dev/shm/",
        "/memfd:",
        "/memfd:heapwright",
        "/SYSV",
        "/dev/zero",
        "/lib",
        "/usr/lib",
    ):
        assert hashed.startswith(prefix) == path.startswith(prefix)


def test_a_file_is_the_same_by_its_path_and_alone(unnamed: Unnamed) -> None:
    for path in ("/home/acme/bin/secret", "/usr/lib/libsecret.so.1", "/lib/libc.so.6"):
        assert unnamed.path(path).rpartition("/")[2] == unnamed.library(path.rpartition("/")[2])
    assert unnamed.path("/lib/x/libc.so.6").endswith("/libc.so.6")


def test_headers_of_containers_are_known() -> None:
    assert frozenset(containers._HEADERS) == _HEADERS


def test_a_place_without_a_name_is_one(unnamed: Unnamed) -> None:
    named = Location("secret+0x1234", "", 0, False, "secret")
    assert unnamed.location(named, "program_1+0x5").function == "program_1+0x5"


@pytest.mark.parametrize(
    ("allocator", "begin"),
    [
        ("glibc 2.36 (/lib/x86_64-linux-gnu/libc.so.6)", "glibc 2.36 (/lib/folder_"),
        ("jemalloc 5.3.0-secret (/home/acme/lib/libjemalloc.so.2)", "jemalloc 5.3.0 (/folder_"),
        ("/home/acme/libsecret.so", "/folder_"),
        ("jemalloc inside (secret_je_malloc)", "jemalloc inside"),
        ("secretalloc 3", "allocator_"),
        ("", ""),
    ],
)
def test_what_a_trace_says_of_itself(unnamed: Unnamed, allocator: str, begin: str) -> None:
    said = {
        "program": "/home/acme/bin/secret",
        "command": "secret --key=secret",
        "host": "secret",
        "allocator": allocator,
        "recorder_version": "1.2.3",
        "process_id": 4711471147,
        "parent_process_id": 4710471047,
        "start_unix_ns": 5,
        "page_bytes": 4096,
        "notes": ["12 calls to secret"],
        "unseen": [
            "1 library was loaded with RTLD_DEEPBIND: its heap calls are not seen",
            "'/home/acme/bin/secret' has jemalloc linked in statically",
        ],
        "unrecorded_processes": ["77\t/home/acme/bin/secret\tuser secret may not", "secret"],
        "conditions": [
            "cpus\t8",
            "MALLOC_CONF\tsecret:1",
            "MIMALLOC_SECRET\tsecret",
            "secret",
            "kernel\tsecret",
            TUNABLES,
        ],
    }
    hashed = unnamed_metadata(said, unnamed)
    assert [
        secret for secret in (*SECRETS, "SECRET", "4711471147", "4710471047") if secret in repr(hashed)
    ] == []
    assert hashed["allocator"].startswith(begin)
    assert (hashed["recorder_version"], hashed["page_bytes"]) == ("1.2.3", 4096)
    assert [len(hashed[name]) for name in ("notes", "unseen", "unrecorded_processes", "conditions")] == [
        1,
        2,
        2,
        6,
    ]
    assert hashed["unseen"][0] == said["unseen"][0]
    assert hashed["conditions"][0] == "cpus\t8"
    assert hashed["conditions"][5].startswith("GLIBC_TUNABLES\tglibc.malloc.arena_max=2:tunable_")


@pytest.mark.parametrize(
    "function", ["palloc0", "std::pmr::monotonic_buffer_resource::do_allocate(int, int)"]
)
def test_functions_of_known_nested_allocators_keep_their_names(function: str) -> None:
    assert Unnamed("/usr/bin/acme").function(function) == function


def test_contexts_stay_contexts() -> None:
    unnamed = Unnamed("/srv/shop")
    assert unnamed.path("[context]") == "[context]"
    checkout, search, malloc = (
        unnamed.location(Location(name, "", 0, False, libraries.CONTEXT), "")
        for name in ("checkout", "search", "malloc")
    )
    assert {one.library for one in (checkout, search, malloc)} == {libraries.CONTEXT}
    assert all(one.function.startswith("context_") for one in (checkout, search, malloc))
    assert len({checkout, search, malloc}) == 3
    other = Location("(other)", "", 0, False, libraries.CONTEXT)
    assert unnamed.location(other, "") == other
