// SPDX-License-Identifier: MIT
#include "record/own_name_families.hpp"

namespace heapwright::record {

constinit FamilyFacts families[family_count] = {
    {.anchor = "mi_malloc", .usable_name = "mi_usable_size"},
    {.anchor = "mallocx", .usable_name = "malloc_usable_size"},
    {.anchor = "je_mallocx", .usable_name = "je_malloc_usable_size"},
    {.anchor = "tc_malloc", .usable_name = "tc_malloc_size"},
};

bool is_code_of_own_names(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const FamilyFacts& family : families) {
    if (at - family.code_start < family.code_end - family.code_start) return true;
  }
  return false;
}

}  // namespace heapwright::record
