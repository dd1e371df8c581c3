#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds current mimalloc, snmalloc, rpmalloc and jemalloc as preload libraries
# into build/peers/, from the sources inside their packages in Rust's registry; then
# `heapwright lab --on mimalloc-new` and the like find them. One that cannot be
# built is named and left out.
set -uo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build/peers
work=$out/work
jobs=${JOBS:-$(nproc)}
cc=${CC:-cc}
cxx=${CXX:-c++}

command -v cargo >/dev/null || { echo "peers: needs cargo; type: apt-get install cargo" >&2; exit 2; }
mkdir -p "$work"
cd "$work" || exit 2
cat >Cargo.toml <<'TOML'
[package]
name = "peers"
version = "0.0.0"
edition = "2021"
[lib]
path = "empty.rs"
[dependencies]
libmimalloc-sys = "0.1"
snmalloc-sys = "0.7"
rpmalloc-sys = "0.2"
tikv-jemalloc-sys = "0.7"
TOML
touch empty.rs
cargo vendor --quiet sources >/dev/null || { echo "peers: cargo cannot fetch the packages" >&2; exit 2; }
sources=$work/sources

# Puts the library beside its version.
finish() {
  mv "$1" "$out/lib$2-new.so" && echo "$3" >"$out/lib$2-new.version" && echo "peers: $2 $3"
}

mimalloc() {
  local at=$sources/libmimalloc-sys/c_src/mimalloc/v3 number
  "$cc" -O3 -DNDEBUG -DMI_MALLOC_OVERRIDE -DMI_SHARED_LIB -DMI_SHARED_LIB_EXPORT -fvisibility=hidden -fPIC -shared \
    -ftls-model=initial-exec -I "$at/include" "$at/src/static.c" -o mimalloc.so -lpthread || return 1
  number=$(sed -n 's/^#define MI_MALLOC_VERSION  *\([0-9]*\).*/\1/p' "$at/include/mimalloc.h")
  finish mimalloc.so mimalloc "$((10#$number / 10000)).$((10#$number / 100 % 100)).$((10#$number % 100))"
}

# The same with its guards and checks, for bench/heap/misuse.py and hardened.py.
mimalloc_secure() {
  local at=$sources/libmimalloc-sys/c_src/mimalloc/v3
  "$cc" -O3 -DNDEBUG -DMI_SECURE=4 -DMI_MALLOC_OVERRIDE -DMI_SHARED_LIB -DMI_SHARED_LIB_EXPORT -fvisibility=hidden \
    -fPIC -shared -ftls-model=initial-exec -I "$at/include" "$at/src/static.c" -o "$out/libmimalloc-secure.so" -lpthread
}

snmalloc() {
  local at=$sources/snmalloc-sys/upstream
  "$cxx" -O3 -DNDEBUG -std=c++20 -mcx16 -fPIC -shared -ftls-model=initial-exec \
    -DSNMALLOC_USE_WAIT_ON_ADDRESS=1 -I "$at/src" \
    "$at/src/snmalloc/override/malloc.cc" "$at/src/snmalloc/override/new.cc" -o snmalloc.so -lpthread || return 1
  finish snmalloc.so snmalloc "$(package_version snmalloc-sys)"
}

rpmalloc() {
  local at=$sources/rpmalloc-sys/rpmalloc/rpmalloc
  "$cc" -O3 -DNDEBUG -D_GNU_SOURCE -DENABLE_OVERRIDE=1 -DENABLE_PRELOAD=1 -fPIC -shared -ftls-model=initial-exec \
    "$at/rpmalloc.c" -o rpmalloc.so -lpthread || return 1
  finish rpmalloc.so rpmalloc "$(package_version rpmalloc-sys)"
}

jemalloc() {
  local at=$work/jemalloc version
  rm -rf "$at" && cp -r "$sources/tikv-jemalloc-sys/jemalloc" "$at" && cd "$at" || return 1
  cp ../sources/tikv-jemalloc-sys/configure/configure . || return 1
  version=$(package_version tikv-jemalloc-sys)
  version=${version%%-*}
  ./configure --disable-cxx --with-version="$version-0-g0000000000000000000000000000000000000000" >configure.log &&
    make -j "$jobs" lib/libjemalloc.so.2 >build.log 2>&1 || return 1
  finish lib/libjemalloc.so.2 jemalloc "$version"
}

# The package's, or the library's where it names it: 0.7.1+5.3.1 holds 5.3.1.
package_version() {
  sed -n 's/^version = "\([^"]*\)".*/\1/p' "$sources/$1/Cargo.toml" | head -1 | sed 's/^.*+\([0-9]*\.\)/\1/'
}

built=0
for peer in mimalloc mimalloc_secure snmalloc rpmalloc jemalloc; do
  if ("$peer" 2>"$work/$peer.log"); then
    built=$((built + 1))
  else
    echo "peers: $peer was not built; see build/peers/work/$peer.log" >&2
  fi
done
[[ $built -gt 0 ]]
