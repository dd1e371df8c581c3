// SPDX-License-Identifier: MIT
// Whose a function is, for a library that stands before others: what it would be without us, and whether all
// callers' is ours. By the loader, which may allocate.
#pragma once

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>

// glibc only.
extern "C" {
[[gnu::weak]] int dladdr1(const void*, Dl_info*, void**, int) noexcept;
}

namespace heapwright::platform {

// As glibc's dl_find_object, which older headers lack; its documentation fixes the layout.
struct FoundObject {
  std::uint64_t flags;
  void* map_start;
  void* map_end;
  struct link_map* object;
  void* frames;
  std::uint64_t reserved[7];
};
using FindObject = int (*)(void*, FoundObject*);

// A file in memory: where it begins, and its name.
struct LoadedFile {
  const void* begin = nullptr;
  const char* name = "";
};

// nullptr: glibc before 2.35, musl. Leaves no error text.
inline FindObject find_object_of_libc() noexcept {
  void* const found = dlsym(RTLD_DEFAULT, "_dl_find_object");
  [[maybe_unused]] void* const there = found != nullptr ? found : dlsym(RTLD_DEFAULT, "dlsym");
  return reinterpret_cast<FindObject>(found);
}

// dladdr() also looks for the symbol, through the whole symbol table: 30,000 instructions in libc, and it
// reads all pages of that from the file. glibc has a function that does not, from 2.35 on.
inline LoadedFile file_of(const void* address) noexcept {
  if (address == nullptr) return {};
  static const FindObject find = find_object_of_libc();
  FoundObject found{};
  // The executable has no name there.
  if (find != nullptr && find(const_cast<void*>(address), &found) == 0 && found.object->l_name[0] != '\0') {
    return {found.map_start, found.object->l_name};
  }
  Dl_info info;
  if (dladdr(address, &info) == 0) return {};
  return {info.dli_fbase, info.dli_fname == nullptr ? "" : info.dli_fname};
}

// The beginning in memory of the file that an address is of; nullptr: of none.
inline const void* object_of(const void* address) noexcept { return file_of(address).begin; }
template <typename Function>
const void* object_of(Function* function) noexcept {
  return object_of(reinterpret_cast<const void*>(function));
}

// Whether an address is in a file whose name begins with one of these.
inline bool is_in_file(const void* address, std::initializer_list<const char*> beginnings) noexcept {
  const char* path = file_of(address).name;
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
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
  if (object_of(first) == object_of(own)) return nullptr;
  if (dladdr1 != nullptr && dladdr1(first, &info, &symbol, RTLD_DL_SYMENT) != 0 && symbol != nullptr &&
      static_cast<const Elf64_Sym*>(symbol)->st_shndx == SHN_UNDEF) {
    return nullptr;
  }
  return first;
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
