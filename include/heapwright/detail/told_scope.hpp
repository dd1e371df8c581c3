// SPDX-License-Identifier: MIT
// Reports named budgets and allowances to a recorder, as phases (annotate.h): the
// kind of scope, and within it the budget's name. heapwright gate computes the
// figures of [[scope]] from them.
#ifndef HEAPWRIGHT_DETAIL_TOLD_SCOPE_HPP
#define HEAPWRIGHT_DETAIL_TOLD_SCOPE_HPP

#include "heapwright/annotate.h"
#include "heapwright/detail/check.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

// python/heapwright/gate/scopes.py knows these names.
inline constexpr const char* scope_of_thread = "heap_budget";
inline constexpr const char* scope_of_process = "heap_budget of all threads";
inline constexpr const char* scope_allowance = "heap_allowance";

// Budgets without a name are not reported.
inline void tell_scope_begins(const char* kind, const char* name) noexcept {
  if (name == nullptr) return;
  heapwright_phase_begins(kind);
  heapwright_phase_begins(name);
}
inline void tell_scope_ends(const char* kind, const char* name) noexcept {
  if (name == nullptr) return;
  heapwright_phase_ends(name);
  heapwright_phase_ends(kind);
}

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
