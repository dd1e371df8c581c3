# SPDX-License-Identifier: MIT
# The front door. Every target installs what it needs: Debian packages when
# run as root (otherwise it says which), Python packages into .venv.

PYTHON ?= python3
# Where it is set, each of the tests' two thousand commands compiles all of its modules anew.
export PYTHONDONTWRITEBYTECODE :=
JOBS ?= $(shell nproc)
HEAPWRIGHT := .venv/bin/heapwright
# Whether the C++ tests and target programs are built as well.
TESTS ?= OFF
# Changes of these ask for a new installation into .venv (editable: changed Python is there at once); the C++ in it comes
# from build/release, so nothing is compiled twice.
INSTALL_INPUTS := pyproject.toml CMakeLists.txt $(shell find src include cmake -type f 2>/dev/null)
PIP := .venv/bin/python -m pip install -q --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup setup-test build run test test-all quick check portable wheel release bench bench-heap bench-parts bench-peers sweep aarch64 trixie mutants fuzz docs clean

help: ## show this list
	@echo "heapwright: know what your heap costs, and why"
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12 | sed 's/^/  make /'

setup: ## install what building and running need
	@tools/setup.sh run

setup-test:
	@tools/setup.sh test $(T)

build: setup ## build build/release/lib/, build/release/bin/ and .venv/bin/heapwright
	@$(MAKE) --no-print-directory .venv/installed
	@cmake --preset release -DHEAPWRIGHT_TESTS=$(TESTS) >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build --preset release -j $(JOBS) -- --quiet

.venv/tools: pyproject.toml
	@test -x .venv/bin/python || $(PYTHON) -m venv .venv
	@.venv/bin/python -c "import tomllib; \
	  print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'], sep='\n')" > .venv/requires.txt
	@$(PIP) -r .venv/requires.txt
	@touch $@

INSTALL := CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(PIP) --no-build-isolation -C build-dir=build/release
.venv/installed: .venv/tools $(INSTALL_INPUTS)
	@mkdir -p build
	@$(INSTALL) -C cmake.define.HEAPWRIGHT_TESTS=$(TESTS) -C cmake.define.HEAPWRIGHT_CORE=OFF -e '.[all,test]'
	@touch $@

# What records and explains, without extras: a fifth of the packages, half of the C++.
.venv/core: .venv/tools $(INSTALL_INPUTS)
	@mkdir -p build
	@$(INSTALL) -C cmake.define.HEAPWRIGHT_CORE=ON -e .
	@touch $@

# Of src/ alone: `heapwright lint` needs the one that fits its libclang.
TIDY := clang-tidy==22.1.8
.venv/clang-tidy: Makefile | .venv/tools
	@$(PIP) --no-deps --upgrade --target $@ '$(TIDY)'
	@touch $@

run: setup ## record a real program (sqlite3) and explain its heap; builds and installs only what that needs
	@$(MAKE) --no-print-directory .venv/$(if $(wildcard .venv/installed),installed,core)
	@rm -rf build/demo && mkdir -p build/demo
	$(HEAPWRIGHT) record --output build/demo/sqlite3.heapwright -- sqlite3 :memory: '.read examples/orders.sql'
	$(HEAPWRIGHT) explain build/demo/sqlite3.heapwright

# T=heap, T=python, T=python/explain, T=journeys/test_limits.py …: only these, and only what they need is installed and
# built. T=python/explain is tests/python/test_explain*.py.
T ?=
test: setup-test ## run the tests of every day; T=python/test_explain.py: only these
	@$(MAKE) --no-print-directory $(if $(filter python% journeys% tools%,$(T)),.venv/installed,.venv/tools) \
	  $(if $(filter-out tools%,$(T)),,.venv/clang-tidy) TESTS=ON
	@mkdir -p build
	@cmake --preset release -DHEAPWRIGHT_TESTS=ON >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@.venv/bin/python tools/run_tests.py --jobs $(JOBS) $(if $(T),--of $(T)) $(if $(ALL),--all)

# ALL=1: also what has the label or the marker `full`, C++ lint and all sanitizers.
ALL ?=
test-all: ## run every test, as CI does and as before a release
	@$(MAKE) --no-print-directory test ALL=1

# SINCE=HEAD~3: of the changes since then.
SINCE ?= main
quick: setup-test ## run what sees your changes since main, in 90 s once everything is built
	@test -x $(HEAPWRIGHT) && test -f build/release/build.ninja || $(MAKE) --no-print-directory build TESTS=ON
	@.venv/bin/python tools/quick_tests.py --since $(SINCE)

check: setup-test ## layers, sizes, symbols, documents, formatting, types
	@$(MAKE) --no-print-directory build .venv/clang-tidy TESTS=ON
	@.venv/bin/python tools/run_checks.py

portable: setup .venv/tools ## build the programs and libraries in build/portable/ for glibc 2.17 and later (as root)
	@tools/setup.sh portable
	@.venv/bin/python tools/older_system.py
	@cmake --preset portable -DHEAPWRIGHT_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python >build/configure.log 2>&1 || \
	  { cat build/configure.log; exit 1; }
	@cmake --build --preset portable -j $(JOBS) -- --quiet
	@.venv/bin/python tools/check_versions.py --list build/portable/bin build/portable/lib

wheel: setup .venv/tools ## build a stripped manylinux wheel into dist/ and try it
	@[ $$(id -u) -ne 0 ] || tools/setup.sh portable
	@tools/build_wheel.sh

release: wheel ## make wheel, Debian packages, tarball, container recipe, sums in dist/; install and use each in a chroot
	@tools/setup.sh release
	@.venv/bin/python -c "import tomllib; \
	  print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['release'], sep='\n')" > .venv/requires.txt
	@build/wheel-trial/bin/python -m pip install -q --disable-pip-version-check -r .venv/requires.txt
	@.venv/bin/python tools/release_wheels.py
	@.venv/bin/python tools/own_python.py || echo "release: the tarball needs a Python 3.11 or later of the system"
	@build/wheel-trial/bin/python tools/make_release.py
	@lintian --allow-root --fail-on error,warning dist/*.deb
	@build/wheel-trial/bin/python tools/try_release.py

bench: setup-test ## measure against heaptrack in the same run, then write docs/performance.md
	@$(MAKE) --no-print-directory build TESTS=ON
	@cmake --preset release -DHEAPWRIGHT_BENCH=ON >/dev/null && cmake --build build/release
	@.venv/bin/python bench/recorder/measure.py
	@.venv/bin/python bench/recorder/measure_analysis.py
	@.venv/bin/python bench/recorder/measure_analysis.py --large-gb 5
	@.venv/bin/python bench/pack.py recorder
	@.venv/bin/python bench/render.py --write

bench-heap: ## measure the heap beside up to nine others, then write docs/heap-performance.md
	@tools/setup.sh bench
	@$(MAKE) --no-print-directory build
	@.venv/bin/python bench/heap/measure.py
	@.venv/bin/python bench/heap/measure.py --servers
	@.venv/bin/python bench/heap/measure.py --programs
	@.venv/bin/python bench/pack.py heap
	@.venv/bin/python bench/render.py --write

bench-parts: ## measure the C++ parts beside other libraries, then write docs/parts/performance.md
	@tools/setup.sh bench
	@$(MAKE) --no-print-directory build
	@.venv/bin/python bench/parts/measure.py
	@.venv/bin/python bench/pack.py parts
	@.venv/bin/python bench/render.py --write

bench-peers: ## build current mimalloc, snmalloc, rpmalloc, jemalloc for the lab (optional)
	@tools/build_peers.sh

sweep: setup-test ## run every program of /usr/bin under the heap and under the recorder
	@$(MAKE) --no-print-directory build TESTS=ON
	@.venv/bin/python tools/sweep_programs.py

# Units that ask the kernel are not for the emulator of programs, which has its own answers: see run_aarch64.py.
aarch64: ## build for aarch64, run units in an emulator and recordings in an emulated machine (as root)
	@tools/setup.sh run && tools/setup.sh aarch64
	@$(MAKE) --no-print-directory build
	@.venv/bin/python tools/run_aarch64.py --make-root
	@mkdir -p build; HEAPWRIGHT_AARCH64_ROOT=$(CURDIR)/build/roots/aarch64 cmake -S . -B build/aarch64 -G Ninja \
	  --toolchain cmake/aarch64.cmake -DCMAKE_BUILD_TYPE=RelWithDebInfo >build/configure.log 2>&1 || \
	  { cat build/configure.log; exit 1; }
	@HEAPWRIGHT_AARCH64_ROOT=$(CURDIR)/build/roots/aarch64 cmake --build build/aarch64 -j $(JOBS) -- --quiet
	@ctest --test-dir build/aarch64 -j $(JOBS) --timeout 600 --output-on-failure --progress -E '^unwind_|ProcessorTime|HugePages|RecordedOrder|CachedBuffers'
	@.venv/bin/python tools/run_aarch64.py

matrix: setup-test ## run a program on each C library and allocator that is here, and in chroots of other releases (as root)
	@$(MAKE) --no-print-directory build TESTS=ON
	@.venv/bin/python bench/matrix/measure.py --make-roots bullseye trixie
	@.venv/bin/python bench/pack.py matrix
	@.venv/bin/python bench/render.py --write

trixie: setup-test ## run the heap on Debian trixie's C library, in a chroot that is made for it (as root)
	@tools/setup.sh trixie
	@$(MAKE) --no-print-directory build TESTS=ON
	@.venv/bin/python tools/run_trixie.py

# N=200: so many made faults at random; CHANGED=main: on the lines that are not as there; SEED=, ONLY=src/heap.
N ?=
mutants: setup-test ## plant the faults of tests/mutants/ one by one; N=200: plant as many at random, and list what survives
	@$(MAKE) --no-print-directory build TESTS=ON
	@.venv/bin/python $(if $(N),tools/run_made_faults.py $(N) --jobs $(JOBS) $(if $(SEED),--seed $(SEED)) $(if \
	  $(CHANGED),--changed $(CHANGED)) $(if $(ONLY),--only '$(ONLY)'),tools/run_mutants.py)

FUZZ_SECONDS ?= 60
fuzz: setup-test ## fuzz the trace decoder, the heap and the parts, FUZZ_SECONDS (60) each
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz --target fuzzers -j $(JOBS) -- --quiet
	@tools/fuzz.sh $(FUZZ_SECONDS)

.venv/docs: pyproject.toml .venv/tools
	@$(PIP) "$$(.venv/bin/python -c "import tomllib; \
	  print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['docs'])")"
	@touch $@

docs: setup ## check what the documents name, and make a site of them: build/site/index.html
	@$(PYTHON) tools/check_docs.py
	@$(MAKE) --no-print-directory .venv/docs
	@.venv/bin/mkdocs build --quiet --strict

clean: ## remove what was built
	rm -rf build .venv
