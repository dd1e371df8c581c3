# SPDX-License-Identifier: MIT
"""The Debian source packages that the checks without a recording are judged on."""

from __future__ import annotations

from typing import NamedTuple


class Package(NamedTuple):
    """configure: a shell line in the package's folder that leaves build/compile_commands.json."""

    name: str
    version: str
    configure: str


_CMAKE = "cmake -S . -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_BUILD_TYPE=Release"

PACKAGES = (
    Package(
        "rocksdb",
        "7.8.3-2",
        f"{_CMAKE} -DWITH_GFLAGS=OFF -DWITH_TESTS=OFF -DWITH_BENCHMARK_TOOLS=OFF -DFAIL_ON_WARNINGS=OFF",
    ),
    Package("gdal", "3.6.2+dfsg-1", ""),
    Package(
        "poco",
        "1.11.0-3+deb12u1",
        f"{_CMAKE} -DENABLE_DATA=OFF -DENABLE_MONGODB=ON -DENABLE_NETSSL=OFF -DENABLE_CRYPTO=OFF "
        "-DENABLE_JWT=OFF -DENABLE_APACHECONNECTOR=OFF -DENABLE_PDF=OFF -DENABLE_ACTIVERECORD=OFF "
        "-DENABLE_ACTIVERECORD_COMPILER=OFF -DENABLE_PAGECOMPILER=OFF -DENABLE_PAGECOMPILER_FILE2PAGE=OFF",
    ),
    Package("cppcheck", "2.10-2", f"{_CMAKE} -DBUILD_TESTS=ON -DUSE_MATCHCOMPILER=Off"),
    Package(
        "cmake",
        "3.25.1-1",
        f"{_CMAKE} -DCMAKE_USE_OPENSSL=OFF -DBUILD_TESTING=OFF -DBUILD_CursesDialog=OFF -DBUILD_QtDialog=OFF",
    ),
    Package("protobuf", "3.21.12-3+deb12u1", f"{_CMAKE} -Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_WITH_ZLIB=OFF"),
    Package("opencv", "4.6.0+dfsg-12", ""),
    Package("openscenegraph", "3.6.5+dfsg1-8", ""),
)
