// SPDX-License-Identifier: MIT
#include <cstring>

#include "unwind/compact_rule.hpp"

namespace heapwright::unwind {
namespace {

bool is_saved_near(const SavedRegister& saved) {
  return saved.kind == SavedRegister::Kind::at_cfa_offset && Rule::word_offset_fits(saved.offset);
}

// One of a PLT stub: adrp x16; ldr x17, [x16, #N]; add x16, x16, #N; br x17. The linker describes none.
bool is_of_plt_stub(std::uint32_t instruction) {
  constexpr struct {
    std::uint32_t mask;
    std::uint32_t code;
  } stub[] = {
      {0x9f00001f, 0x90000010}, {0xffc003ff, 0xf9400211}, {0xffc003ff, 0x91000210}, {0xffffffff, 0xd61f0220}};
  for (const auto& one : stub) {
    if ((instruction & one.mask) == one.code) return true;
  }
  return false;
}

}  // namespace

Rule compact(const FrameRow& row, bool is_signal_frame, std::uint64_t /*pc*/) noexcept {
  constexpr Rule unfollowable{RuleType::unfollowable};
  const SavedRegister& saved = row.return_address;
  if (saved.kind == SavedRegister::Kind::undefined) return Rule{RuleType::end};
  const bool is_by_sp = row.cfa_register == register_rsp;
  const bool has_cfa = !row.has_cfa_expression && (is_by_sp || row.cfa_register == register_rbp) &&
                       Rule::word_offset_fits(row.cfa_offset);
  if (is_signal_frame) return Rule{RuleType::signal_frame};  // in the tables of kernels before 5.8
  if (!has_cfa) return unfollowable;
  RuleType type = is_by_sp ? RuleType::rsp_offset : RuleType::rbp_offset;
  if (saved.kind == SavedRegister::Kind::unchanged && is_by_sp) {
    type = RuleType::link_register;
  } else if (!is_saved_near(saved)) {
    return unfollowable;
  }
  RbpSource source = RbpSource::lost;
  if (row.rbp.kind == SavedRegister::Kind::unchanged) source = RbpSource::unchanged;
  if (row.rbp.kind == SavedRegister::Kind::at_cfa_offset) source = RbpSource::cfa_slot;
  if (!Rule::rbp_offset_fits(row.rbp.offset)) return unfollowable;
  const Rule rule{type, static_cast<std::int32_t>(row.cfa_offset), source,
                  static_cast<std::int32_t>(row.rbp.offset)};
  return rule.with_return_address_at(type == RuleType::link_register ? 0 : saved.offset);
}

// The kernel's `mov x8, #139; svc #0`.
bool is_signal_return(std::uint64_t pc, std::uint64_t end) noexcept {
  constexpr std::uint32_t code[] = {0xd2801168, 0xd4000001};
  if (end - pc < sizeof code) return false;
  return std::memcmp(reinterpret_cast<const void*>(pc), code, sizeof code) == 0;
}

Rule rule_without_table(std::uint64_t pc, std::uint64_t end, bool is_exact) noexcept {
  std::uint32_t instruction = 0;
  if (!is_exact || end - pc < sizeof instruction) return Rule::without_tables(RuleType::unfollowable, false);
  std::memcpy(&instruction, reinterpret_cast<const void*>(pc), sizeof instruction);
  if (!is_of_plt_stub(instruction)) return Rule::without_tables(RuleType::unfollowable, false);
  return {RuleType::link_register, 0, RbpSource::unchanged, 0};
}

}  // namespace heapwright::unwind
