# SPDX-License-Identifier: MIT
"""The header parts as a Conan 2 package: conan create packaging/conan"""

from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy


class Heapwright(ConanFile):
    name = "heapwright"
    version = "1.0.0"
    license = "MIT"
    description = "Header-only C++20 parts for the heap: small_vector, arena, pools, budgets"
    package_type = "header-library"
    settings = "os", "compiler", "build_type", "arch"
    no_copy_source = True

    def export_sources(self):
        project = Path(self.recipe_folder).parents[1]
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*"):
            copy(self, pattern, project, self.export_sources_folder)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["HEAPWRIGHT_PARTS_ONLY"] = True
        toolchain.generate()

    def package_id(self):
        self.info.clear()

    def package(self):
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder) / "licenses")
        cmake = CMake(self)
        cmake.configure()
        cmake.install()

    def package_info(self):
        # The package brings its own find_package(heapwright).
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/heapwright"]
