// SPDX-License-Identifier: MIT
#include "lab/identify.hpp"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include <cstdio>
#include <cstdlib>

namespace heapwright::lab {
namespace {

template <typename Function>
Function* find(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// Empty if the allocator does not report it.
const char* version_of_allocator(char (&text)[64]) noexcept {
  if (auto* control = find<int(const char*, void*, std::size_t*, void*, std::size_t)>("mallctl")) {
    const char* version = nullptr;
    std::size_t length = sizeof(version);
    return control("version", &version, &length, nullptr, 0) == 0 ? version : "";
  }
  if (auto* version = find<const char*(int*, int*, const char**)>("tc_version")) {
    return version(nullptr, nullptr, nullptr);
  }
  if (auto* version = find<int()>("mi_version")) {
    // 209 is 2.0.9; from 2.2 on, 30403 is 3.4.3.
    const int number = version();
    const int base = number < 10'000 ? 10 : 100;
    std::snprintf(text, sizeof(text), "%d.%d.%d", number / base / base, number / base % base, number % base);
    return text;
  }
  if (auto* version = find<const char*()>("heapwright_heap_version")) return version();
  return "";
}

}  // namespace

void identify(figures::Report& report) {
  char text[64] = "";
  Dl_info object{};
  void* function = dlsym(RTLD_DEFAULT, "malloc");
  const bool is_known = function != nullptr && dladdr(function, &object) != 0 && object.dli_fname != nullptr;
  report.text("malloc_from", is_known ? object.dli_fname : "");
  report.text("version", version_of_allocator(text));
  report.text("libc", gnu_get_libc_version());
}

}  // namespace heapwright::lab
