// SPDX-License-Identifier: MIT
// The shared table of program counters: their numbers and rules.
#pragma once

#include <cstdint>

#include "session/layout.hpp"
#include "unwind/rule.hpp"
#include "unwind/tables.hpp"

namespace heapwright::unwind {

struct KnownPc {
  static constexpr std::uint32_t table_is_full = ~0U;
  std::uint32_t number;
  Rule rule;
};

inline constexpr std::uint32_t max_pc_probes = 128;

inline std::uint32_t pc_home_slot(std::uint64_t key) {
  constexpr unsigned slot_bits = 17;
  static_assert(1U << slot_bits == session::pc_table_slots);
  return static_cast<std::uint32_t>(key * 0x9e3779b97f4a7c15ULL >> (64 - slot_bits));
}

// The part of find_pc() that evaluates rules and claims slots.
KnownPc find_new_pc(const Tables& tables, std::uint64_t key) noexcept;

// `key` is the pc, with pc_key_exact for an interrupted frame.
inline KnownPc find_pc(const Tables& tables, std::uint64_t key) noexcept {
  const session::ProcessBlock& block = *tables.block;
  const std::uint32_t home = pc_home_slot(key);
  for (std::uint32_t probe = 0; probe < max_pc_probes; ++probe) {
    const std::uint32_t slot = (home + probe) & (session::pc_table_slots - 1);
    const std::uint64_t found = block.pcs[slot].key.load(std::memory_order_relaxed);
    if (found == key) [[likely]] {
      const Rule rule{block.pcs[slot].rule.load(std::memory_order_relaxed)};
      if (rule.type() == RuleType::not_evaluated || rule.type() == RuleType::no_object) [[unlikely]] {
        break;
      }
      return {slot, rule};
    }
    if (found == 0) break;
  }
  return find_new_pc(tables, key);
}

}  // namespace heapwright::unwind
