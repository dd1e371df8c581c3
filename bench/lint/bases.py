# SPDX-License-Identifier: MIT
"""The code bases that lint is measured on: where they are from, how they are built, what is recorded."""

from __future__ import annotations

from typing import NamedTuple


class Base(NamedTuple):
    """build: shell lines, in the folder of the sources, into build/. run: in build/. does: in words."""

    name: str
    repository: str
    revision: str
    build: tuple[str, ...]
    run: tuple[str, ...]
    does: str


_CMAKE = "cmake -S . -B build -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
_MAKE = "cmake --build build -j ${JOBS:-1}"
_GMOCK = "-I/usr/src/googletest/googlemock/include -I/usr/src/googletest/googlemock"

BASES = (
    Base(
        "leveldb",
        "google/leveldb",
        "78a352f47ed6c1e9d750545e9b242289185b87e1",
        (
            f"{_CMAKE} -DCMAKE_CXX_STANDARD=17 -DLEVELDB_BUILD_TESTS=OFF -DLEVELDB_BUILD_BENCHMARKS=OFF "
            "-DHAVE_SNAPPY=0 -DHAVE_ZSTD=0 -DHAVE_CRC32C=0 -DHAVE_TCMALLOC=0",
            _MAKE,
            "g++ -std=c++17 -g -O2 -fno-rtti -DLEVELDB_PLATFORM_POSIX=1 -I. -Iinclude -Ibuild/include "
            f"{_GMOCK} benchmarks/db_bench.cc util/histogram.cc util/testutil.cc "
            "/usr/src/googletest/googlemock/src/gmock-all.cc "
            "build/libleveldb.a -lgtest -lpthread -o build/db_bench",
        ),
        (
            "./db_bench",
            "--num=20000",
            "--db=db",
            "--benchmarks=fillseq,fillrandom,readrandom,readseq,seekrandom,compact",
        ),
        "its benchmark, 20,000 keys: writes, reads, seeks, a compaction",
    ),
    Base(
        "jsoncpp",
        "open-source-parsers/jsoncpp",
        "edc01ab10f52135ec80e3589b6b4e0a9c65b27fd",
        (
            f"{_CMAKE} -DJSONCPP_WITH_POST_BUILD_UNITTEST=OFF -DBUILD_SHARED_LIBS=OFF "
            "-DBUILD_OBJECT_LIBS=OFF",
            _MAKE,
        ),
        ("./bin/jsoncpp_test",),
        "its unit tests",
    ),
    Base(
        "yaml-cpp",
        "jbeder/yaml-cpp",
        "c3f81127320662deb3e28f4da0a511f1faecd860",
        (f"{_CMAKE} -DYAML_CPP_BUILD_TESTS=ON -DYAML_CPP_BUILD_TOOLS=ON", _MAKE),
        ("./test/yaml-cpp-tests",),
        "its unit tests",
    ),
    Base(
        "tinyxml2",
        "leethomason/tinyxml2",
        "3dcad8e3c38e7091ae3771bf63020027f91715ce",
        (
            f"{_CMAKE} -Dtinyxml2_BUILD_TESTING=ON",
            _MAKE,
            "cp -r resources build/; mkdir -p build/resources/out",
        ),
        ("./xmltest",),
        "its unit tests",
    ),
)
