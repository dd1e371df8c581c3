// SPDX-License-Identifier: MIT
#include "unwind/pc_table.hpp"

#include "unwind/loaded_objects.hpp"
#include "unwind/return_address.hpp"

namespace heapwright::unwind {
namespace {

using session::PcEntry;

constexpr std::uint32_t max_pcs = session::pc_table_slots / 8 * 7;

// The code may be replaced at any time: a rule with this type is asked for at each use.
Rule evaluate_outside_objects(std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined) {
  const std::uint32_t bytes = bytes_to_return_address(pc, is_confined);
  if (bytes != 0) return Rule::before_return(bytes);
  return Rule::without_tables(RuleType::no_object, has_frame_pointer(pc, is_confined));
}

Rule evaluate_without_tables(std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined) {
  if (is_entry_code(pc) || is_start_of_musl(pc, is_confined)) return Rule{RuleType::end};
  const GoroutineSwitch found = goroutine_switch(pc, is_confined);
  if (found.return_bytes != 0) {
    return Rule::goroutine_switch(found.goroutine_offset, found.depth_offset, found.return_bytes);
  }
  if (is_callback_from_c(pc, is_confined)) return Rule::callback_from_c();
  const RestoredRegisters restored = restored_registers(pc, is_confined);
  if (restored.frame_bytes != 0) {
    const auto cfa_offset = static_cast<std::int32_t>(restored.frame_bytes);
    return {RuleType::rsp_offset, cfa_offset, RbpSource::cfa_slot,
            static_cast<std::int32_t>(restored.rbp_bytes) - cfa_offset};
  }
  return Rule::without_tables(RuleType::unfollowable, has_frame_pointer(pc, is_confined));
}

// Concurrent evaluations of one pc store the same rule.
Rule evaluate(const Tables& tables, PcEntry& entry, std::uint64_t key) {
  session::ProcessBlock& block = *tables.block;
  const std::uint64_t pc = key & session::pc_mask;
  const bool is_exact = (key & session::pc_key_exact) != 0;
  // Where objects cannot be looked up, the object is only unknown.
  Rule rule{block.has_no_unwind_tables == 0 ? RuleType::no_object : RuleType::unfollowable};
  // An interrupted function may not have made its frame yet.
  const bool may_have_frame = !is_exact && block.has_no_unwind_tables == 0;
  LoadedObject object;
  if (find_loaded_object(is_exact ? pc : pc - 1, object)) {
    const std::uint32_t module = note_module(tables, object);
    if (module != no_module) {
      block.pc_modules[&entry - block.pcs].store(static_cast<std::uint16_t>(module + 1),
                                                 std::memory_order_relaxed);
    }
    rule = evaluate_rule(object.tables, pc, is_exact);
    const bool is_without = rule.type() == RuleType::unfollowable && rule.has_no_tables();
    if (is_without && may_have_frame) {
      rule = evaluate_without_tables(pc, &block.is_confined);
    }
  } else if (may_have_frame) {
    rule = evaluate_outside_objects(pc, &block.is_confined);
  }
  // After the module: a thread that finds the rule does not look for the module again.
  entry.rule.store(rule.bits(), std::memory_order_release);
  return rule;
}

// A slot of a library that was unloaded from there.
bool has_dead_slot(const session::ProcessBlock& block, std::uint64_t key) {
  const std::uint32_t home = pc_home_slot(key);
  for (std::uint32_t probe = 0; probe < max_pc_probes; ++probe) {
    const std::uint32_t slot = (home + probe) & (session::pc_table_slots - 1);
    const std::uint64_t found = block.pcs[slot].key.load(std::memory_order_relaxed);
    if (found == (key | session::pc_key_dead)) return true;
    if (found == key || found == 0) break;
  }
  return false;
}

// Makes the slots of a reloaded library live again.
void note_module_of(const Tables& tables, std::uint64_t key) {
  const std::uint64_t pc = key & session::pc_mask;
  LoadedObject object;
  if (find_loaded_object((key & session::pc_key_exact) != 0 ? pc : pc - 1, object)) {
    note_module(tables, object);
  }
}

}  // namespace

KnownPc find_new_pc(const Tables& tables, std::uint64_t key) noexcept {
  session::ProcessBlock& block = *tables.block;
  if (has_dead_slot(block, key)) note_module_of(tables, key);
  const std::uint32_t home = pc_home_slot(key);
  for (std::uint32_t probe = 0; probe < max_pc_probes; ++probe) {
    const std::uint32_t slot = (home + probe) & (session::pc_table_slots - 1);
    PcEntry& entry = block.pcs[slot];
    std::uint64_t found = entry.key.load(std::memory_order_relaxed);
    if (found == 0) {
      if (block.pc_count.load(std::memory_order_relaxed) >= max_pcs) break;
      if (entry.key.compare_exchange_strong(found, key, std::memory_order_relaxed)) {
        block.pc_count.fetch_add(1, std::memory_order_relaxed);
        found = key;
      }
    }
    if (found != key) continue;
    const Rule known{entry.rule.load(std::memory_order_relaxed)};
    const bool is_known = known.type() != RuleType::not_evaluated && known.type() != RuleType::no_object;
    return {slot, is_known ? known : evaluate(tables, entry, key)};
  }
  return {KnownPc::table_is_full, Rule{}};
}

}  // namespace heapwright::unwind
