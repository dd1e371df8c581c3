// SPDX-License-Identifier: MIT
// "Own names": the functions specific to mimalloc, jemalloc and tcmalloc (mi_malloc, mallocx, ...), when the
// program calls them through dynamic symbols.
//
// The hooks are not exported: a program that tests for such an allocator (`if (mallocx)` of a weak symbol,
// dlsym) would otherwise always find it. When an object that defines them is loaded, its dynamic symbols are
// pointed at our hooks, and so is every linkage table entry that was already bound to it
// (docs/decisions/0009-own-names.md).
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::record {

enum class Family : std::uint8_t { mimalloc, jemalloc, prefixed_jemalloc, tcmalloc };
inline constexpr std::size_t family_count = 4;

using UsableFunction = std::size_t (*)(const void*);

struct FamilyFacts {
  const char* anchor;       // an object that defines it belongs to the family
  const char* usable_name;  // asks for a block's usable size
  UsableFunction usable = nullptr;
  // The object whose functions the hooks call; empty: none is loaded.
  std::uintptr_t base = 0;
  std::uintptr_t code_start = 0;
  std::uintptr_t code_end = 0;
  bool is_seen = false;  // in the current look at the loaded objects
};
[[gnu::visibility("hidden")]] extern constinit FamilyFacts families[family_count];

struct OwnName {
  const char* name;
  Family family;
  void* (*hook)() noexcept;  // gives the hook's address, which is not a constant expression
  void** next;               // the real function, once one is loaded
};

// Whether the code belongs to an allocator whose own names are hooked.
bool is_code_of_own_names(const void* address) noexcept;

}  // namespace heapwright::record
