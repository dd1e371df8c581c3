// SPDX-License-Identifier: MIT
// Whose a function is, for a library that stands before others: what it would be without us, and whether all
// callers' is ours. By the loader, which may allocate.
#pragma once

#include <dlfcn.h>
#include <elf.h>

#include <cstring>
#include <initializer_list>

// glibc only.
extern "C" {
[[gnu::weak]] int dladdr1(const void*, Dl_info*, void**, int) noexcept;
}

namespace heapwright::platform {

// The beginning in memory of the file that an address is of; nullptr: of none.
inline const void* object_of(const void* address) noexcept {
  Dl_info info;
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}
template <typename Function>
const void* object_of(Function* function) noexcept {
  return object_of(reinterpret_cast<const void*>(function));
}

// Whether an address is in a file whose name begins with one of these.
inline bool is_in_file(const void* address, std::initializer_list<const char*> beginnings) noexcept {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return false;
  const char* slash = std::strrchr(info.dli_fname, '/');
  const char* name = slash == nullptr ? info.dli_fname : slash + 1;
  for (const char* beginning : beginnings) {
    if (std::strncmp(name, beginning, std::strlen(beginning)) == 0) return true;
  }
  return false;
}

// Of operator new and delete.
inline bool is_in_cpp_runtime(const void* address) noexcept {
  return is_in_file(address, {"libstdc++.so", "libc++.so", "libc++abi.so"});
}

// Null if the function that all callers have by this name is ours: of the file of `own`. Otherwise that
// function, or `own` if there is none. The program may have its own, and another preloaded library may stand
// before us. A program that is not position-independent and takes a function's address has an entry of its
// linkage table for it, which is then the function's address for all objects: that is ours, too.
inline const void* other_first(const char* name, const void* own) noexcept {
  const void* first = dlsym(RTLD_DEFAULT, name);
  Dl_info info;
  void* symbol = nullptr;
  if (first == nullptr) return own;
  if (dladdr1 != nullptr && dladdr1(first, &info, &symbol, RTLD_DL_SYMENT) != 0 && symbol != nullptr &&
      static_cast<const Elf64_Sym*>(symbol)->st_shndx == SHN_UNDEF) {
    return nullptr;
  }
  return object_of(first) == object_of(own) ? nullptr : first;
}

// The next function with an operator's name; nullptr: there is none.
inline void* next_operator(const char* mangled_name) noexcept {
  if (void* next = dlsym(RTLD_NEXT, mangled_name)) return next;
  // Loaded with RTLD_LOCAL, so it is not in our search order.
  void* library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) library = dlopen("libc++.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, mangled_name);
}

}  // namespace heapwright::platform
