// SPDX-License-Identifier: MIT
#include <cstring>

#include "unwind/compact_rule.hpp"
#include "unwind/signal_frame.hpp"

namespace heapwright::unwind {
namespace {

// Exactly `breg <n> <offset>; deref`.
bool is_load_from(const Expression& expression, std::uint8_t base_register, std::int64_t& offset) {
  constexpr std::uint8_t op_breg0 = 0x70;
  constexpr std::uint8_t op_deref = 0x06;
  ByteCursor bytes(expression.bytes, expression.bytes + expression.size_bytes);
  if (bytes.read<std::uint8_t>() != op_breg0 + base_register) return false;
  offset = bytes.read_sleb();
  return bytes.read<std::uint8_t>() == op_deref && !bytes.has_failed() && bytes.is_at_end();
}

bool is_address(const Expression& expression, std::uint8_t base_register, std::int64_t& offset) {
  constexpr std::uint8_t op_breg0 = 0x70;
  ByteCursor bytes(expression.bytes, expression.bytes + expression.size_bytes);
  if (bytes.read<std::uint8_t>() != op_breg0 + base_register) return false;
  offset = bytes.read_sleb();
  return !bytes.has_failed() && bytes.is_at_end();
}

// The linker's expression for PLT stubs:
//   CFA = RSP + first + ((RIP & mask) >= limit) << shift
// constant once the pc is known.
bool is_plt_stub(const Expression& expression, std::uint64_t pc, std::int64_t& offset) {
  // breg7 _, breg16 0, lit _, and, lit _, ge, lit _, shl, plus
  constexpr std::uint8_t shape[] = {0x77, 0, 0x80, 0x00, 0x30, 0x1a, 0x30, 0x2a, 0x30, 0x24, 0x22};
  if (expression.size_bytes != sizeof shape) return false;
  const std::uint8_t* bytes = expression.bytes;
  for (std::size_t i = 0; i < sizeof shape; ++i) {
    const bool is_literal = shape[i] == 0x30;
    if (is_literal && (bytes[i] < 0x30 || bytes[i] > 0x4f)) return false;
    if (!is_literal && i != 1 && bytes[i] != shape[i]) return false;
  }
  if ((bytes[1] & 0xc0) != 0) return false;
  const std::uint64_t is_pushed = (pc & (bytes[4] - 0x30U)) >= bytes[6] - 0x30U ? 1 : 0;
  offset = bytes[1] + static_cast<std::int64_t>(is_pushed << (bytes[8] - 0x30U));
  return true;
}

bool compact_rbp(const SavedRegister& saved, RbpSource& source, std::int64_t& offset) {
  switch (saved.kind) {
    case SavedRegister::Kind::unchanged:
      source = RbpSource::unchanged;
      return true;
    case SavedRegister::Kind::at_cfa_offset:
      source = RbpSource::cfa_slot;
      offset = saved.offset;
      return Rule::rbp_offset_fits(offset);
    case SavedRegister::Kind::at_expression:
      source = RbpSource::rbp_slot;
      if (is_address(saved.expression, register_rbp, offset) && Rule::rbp_offset_fits(offset)) return true;
      break;
    default:
      break;
  }
  source = RbpSource::lost;
  offset = 0;
  return true;
}

}  // namespace

Rule compact(const FrameRow& row, bool is_signal_frame, std::uint64_t pc) noexcept {
  constexpr Rule unfollowable{RuleType::unfollowable};
  if (row.return_address.kind == SavedRegister::Kind::undefined) return Rule{RuleType::end};
  std::int64_t offset = row.cfa_offset;
  if (is_signal_frame) {
    const bool is_kernel_layout = row.has_cfa_expression &&
                                  is_load_from(row.cfa_expression, register_rsp, offset) &&
                                  offset == signal_frame_rsp_offset;
    return is_kernel_layout ? Rule{RuleType::signal_frame} : unfollowable;
  }
  const SavedRegister& saved = row.return_address;
  if (saved.kind != SavedRegister::Kind::at_cfa_offset || saved.offset != -8) return unfollowable;

  RuleType type;
  if (!row.has_cfa_expression) {
    if (row.cfa_register != register_rsp && row.cfa_register != register_rbp) return unfollowable;
    type = row.cfa_register == register_rsp ? RuleType::rsp_offset : RuleType::rbp_offset;
  } else if (is_load_from(row.cfa_expression, register_rbp, offset)) {
    type = RuleType::rbp_load;
  } else if (is_plt_stub(row.cfa_expression, pc, offset)) {
    type = RuleType::rsp_offset;
  } else {
    return unfollowable;
  }
  RbpSource source = RbpSource::lost;
  std::int64_t rbp_offset = 0;
  if (offset != static_cast<std::int32_t>(offset) || !compact_rbp(row.rbp, source, rbp_offset)) {
    return unfollowable;
  }
  return {type, static_cast<std::int32_t>(offset), source, static_cast<std::int32_t>(rbp_offset)};
}

// `mov $15, %eax-or-rax; syscall`: the signal return stub in libcs that give it no unwind entry.
bool is_signal_return(std::uint64_t pc, std::uint64_t end) noexcept {
  constexpr std::uint8_t long_form[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  constexpr std::uint8_t short_form[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
  if (end - pc < sizeof long_form) return false;
  const auto* const code = reinterpret_cast<const void*>(pc);
  return std::memcmp(code, long_form, sizeof long_form) == 0 ||
         std::memcmp(code, short_form, sizeof short_form) == 0;
}

Rule rule_without_table(std::uint64_t /*pc*/, std::uint64_t /*end*/, bool /*is_exact*/) noexcept {
  return Rule::without_tables(RuleType::unfollowable, false);
}

}  // namespace heapwright::unwind
