// SPDX-License-Identifier: MIT
#include "record/allocator_name.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>

namespace heapwright::record {
namespace {

const char* path = "";
const char* (*own_version)() = nullptr;
const char* (*glibc_version)() = nullptr;
int (*jemalloc_control)(const char*, void*, std::size_t*, void*, std::size_t) = nullptr;
int (*mimalloc_version)() = nullptr;
const char* (*gperftools_version)(int*, int*, const char**) = nullptr;

class TextWriter {
 public:
  TextWriter(char* to, std::size_t capacity) noexcept : to_(to), end_(to + capacity - 1) { *to_ = '\0'; }

  void add(const char* text) noexcept { add(text, std::strlen(text)); }
  void add(const char* text, std::size_t length) noexcept {
    const auto room = static_cast<std::size_t>(end_ - to_);
    const std::size_t taken = length < room ? length : room;
    std::memcpy(to_, text, taken);
    to_ += taken;
    *to_ = '\0';
  }
  void add(int number) noexcept {
    if (number >= 10) add(number / 10);
    const char digit = static_cast<char>('0' + number % 10);
    add(&digit, 1);
  }

 private:
  char* to_;
  char* end_;
};

// Only a function in the same object as malloc identifies it.
template <typename Function>
void find_in(const Dl_info& allocator, Function*& function, const char* name) noexcept {
  void* found = dlsym(RTLD_NEXT, name);
  Dl_info info;
  if (found == nullptr || dladdr(found, &info) == 0 || info.dli_fbase != allocator.dli_fbase) return;
  function = reinterpret_cast<Function*>(found);
}

// "5.3.0-0-g54eaed1d…": the release is the part before the dash.
void add_jemalloc(TextWriter& text) noexcept {
  const char* version = nullptr;
  std::size_t bytes = sizeof version;
  text.add("jemalloc");
  if (jemalloc_control("version", &version, &bytes, nullptr, 0) != 0 || version == nullptr) return;
  text.add(" ");
  text.add(version, std::strcspn(version, "-"));
}

// 209 is 2.0.9; later releases have two digits each, 20204 is 2.2.4.
void add_mimalloc(TextWriter& text) noexcept {
  const int version = mimalloc_version();
  const int base = version < 10'000 ? 10 : 100;
  text.add("mimalloc ");
  text.add(version / (base * base));
  text.add(".");
  text.add(version / base % base);
  text.add(".");
  text.add(version % base);
}

void add_gperftools(TextWriter& text) noexcept {
  int major = 0;
  int minor = 0;
  const char* patch = nullptr;
  gperftools_version(&major, &minor, &patch);
  text.add("tcmalloc ");
  text.add(major);
  text.add(".");
  text.add(minor);
  if (patch != nullptr) text.add(patch);
}

}  // namespace

void find_allocator_version(void* used_malloc) noexcept {
  Dl_info allocator;
  if (dladdr(used_malloc, &allocator) == 0 || allocator.dli_fname == nullptr) return;
  path = allocator.dli_fname;
  find_in(allocator, glibc_version, "gnu_get_libc_version");
  find_in(allocator, own_version, "heapwright_heap_version");
  find_in(allocator, jemalloc_control, "mallctl");
  find_in(allocator, mimalloc_version, "mi_version");
  find_in(allocator, gperftools_version, "tc_version");
}

void write_allocator_name(char* to, std::size_t capacity) noexcept {
  TextWriter text(to, capacity);
  if (glibc_version != nullptr) {
    text.add("glibc ");
    text.add(glibc_version());
  } else if (own_version != nullptr) {
    text.add("heapwright ");
    text.add(own_version());
  } else if (jemalloc_control != nullptr) {
    add_jemalloc(text);
  } else if (mimalloc_version != nullptr) {
    add_mimalloc(text);
  } else if (gperftools_version != nullptr) {
    add_gperftools(text);
  } else {
    const char* slash = std::strrchr(path, '/');
    text.add(slash == nullptr ? path : slash + 1);
  }
  text.add(" (");
  text.add(path);
  text.add(")");
}

const char* allocator_path() noexcept { return path; }

}  // namespace heapwright::record
