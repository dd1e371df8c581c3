// SPDX-License-Identifier: MIT
#include "symbolize/pointer_copies.hpp"

namespace heapwright::symbolize {
namespace {

constexpr int stack_pointer = 4;
constexpr int frame_pointer = 5;
constexpr std::uint32_t kept_by_callees = 1U << 3 | 1U << 5 | 0xfU << 12;  // rbx, rbp, r12 to r15
constexpr std::int64_t pointer_bytes = 8;
constexpr std::int64_t most_bytes_stored = 64;

bool is_frame(int base) noexcept { return base == stack_pointer || base == frame_pointer; }

// Those that write no general register, and memory at most as their operand says.
bool only_compares(const Instruction& of) noexcept {
  if (of.map != OpcodeMap::one_byte) return false;
  return of.opcode == 0x84 || of.opcode == 0x85 || of.opcode == 0x38 || of.opcode == 0x39 ||
         of.opcode == 0x3a || of.opcode == 0x3b || of.opcode == 0x90;
}

// What operates on vector registers only, whose numbers are not those of the general ones.
bool only_vectors(const Instruction& of) noexcept {
  if (of.map != OpcodeMap::two_byte) return false;
  return (of.opcode >= 0x10 && of.opcode <= 0x17) || of.opcode == 0x28 || of.opcode == 0x29 ||
         (of.opcode >= 0x54 && of.opcode <= 0x6d) || of.opcode == 0x6f || of.opcode == 0x7f ||
         of.opcode == 0xef || of.opcode == 0xd6;
}

// Whose first operand is a part of the opcode.
bool is_group(const Instruction& of) noexcept {
  if (of.map != OpcodeMap::one_byte) return false;
  const unsigned opcode = of.opcode;
  return (opcode & 0xfc) == 0x80 || opcode == 0xc0 || opcode == 0xc1 || opcode == 0xc6 || opcode == 0xc7 ||
         (opcode & 0xfc) == 0xd0 || (opcode & 0xfe) == 0xf6 || opcode >= 0xfe || opcode == 0x8f;
}

bool changes_stack_pointer(const Instruction& of) noexcept {
  if (of.map != OpcodeMap::one_byte) return false;
  const bool pushes = (of.opcode & 0xf0) == 0x50 || of.opcode == 0x68 || of.opcode == 0x6a ||
                      of.opcode == 0x8f || of.opcode == 0xc8 || of.opcode == 0xc9 || of.opcode == 0xff;
  return pushes || of.rm == stack_pointer || of.reg == stack_pointer;
}

}  // namespace

bool PointerCopies::at(int base, std::int64_t displacement) const noexcept {
  for (std::size_t i = 0; i < slots_used_; ++i) {
    if (slots_[i].base == base && slots_[i].displacement == displacement) return true;
  }
  return false;
}

void PointerCopies::pass(const Instruction& of) noexcept {
  if (of.map == OpcodeMap::one_byte && of.is_wide && of.has_operands) {
    if (of.opcode == 0x89 && !of.is_memory) return set(of.rm, in_register(of.reg));
    if (of.opcode == 0x89) return store(of);
    if (of.opcode == 0x8b && !of.is_memory) return set(of.reg, in_register(of.rm));
    if (of.opcode == 0x8b) return set(of.reg, is_frame(of.base) && at(of.base, of.displacement));
    if (of.opcode == 0x8d) return set(of.reg, false);
  }
  if (only_compares(of)) return;
  forget_written(of);
}

void PointerCopies::pass_call() noexcept { registers_ &= kept_by_callees; }

void PointerCopies::set(int number, bool holds) noexcept {
  const std::uint32_t bit = 1U << static_cast<unsigned>(number);
  registers_ = holds ? registers_ | bit : registers_ & ~bit;
  if (!is_frame(number)) return;
  std::size_t kept = 0;  // places relative to what has changed are no longer known
  for (std::size_t i = 0; i < slots_used_; ++i) {
    if (slots_[i].base != number) slots_[kept++] = slots_[i];
  }
  slots_used_ = kept;
}

void PointerCopies::store(const Instruction& of) noexcept {
  forget_stored(of, pointer_bytes);
  if (!in_register(of.reg) || !is_frame(of.base) || slots_used_ == slots_.size()) return;
  slots_[slots_used_++] = {of.base, of.displacement};
}

// A store elsewhere than in the frame may be to any place, but not to where the compiler keeps copies.
void PointerCopies::forget_stored(const Instruction& of, std::int64_t bytes) noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < slots_used_; ++i) {
    const std::int64_t distance = of.displacement - slots_[i].displacement;
    const bool is_apart = of.base == slots_[i].base && (distance >= pointer_bytes || distance <= -bytes);
    const bool is_elsewhere = !is_frame(of.base);
    if (is_apart || is_elsewhere) slots_[kept++] = slots_[i];
  }
  slots_used_ = kept;
}

void PointerCopies::forget_written(const Instruction& of) noexcept {
  if (of.is_memory) forget_stored(of, most_bytes_stored);
  if (changes_stack_pointer(of)) set(stack_pointer, false);
  if (!of.has_operands) return forget_implied(of);
  if (only_vectors(of)) return;
  const bool only_stores = of.map == OpcodeMap::one_byte && (of.opcode & 0xfe) == 0x88;
  if (!only_stores && !is_group(of)) set(of.reg, false);
  if (of.rm != no_register) set(of.rm, false);
  const bool multiplies = of.map == OpcodeMap::one_byte && (of.opcode & 0xfe) == 0xf6;
  const bool exchanges = of.map == OpcodeMap::two_byte && ((of.opcode & 0xfe) == 0xb0 || of.opcode == 0xc7);
  if (multiplies || exchanges) registers_ &= ~(1U | 1U << 2);
}

// Whichever of the two registers that share a number without its prefix.
void PointerCopies::forget_implied(const Instruction& of) noexcept {
  const int low = of.opcode & 7;
  const bool is_known = of.map == OpcodeMap::one_byte;
  if (is_known && (of.opcode & 0xf8) == 0x50) return;  // push
  if (is_known && ((of.opcode & 0xf8) == 0x58 || (of.opcode & 0xf0) == 0xb0)) {
    set(low, false);
    set(low | 8, false);
  } else if (is_known && of.opcode == 0xc9) {  // leave
    set(frame_pointer, false);
  } else if (is_known && (of.opcode == 0x98 || of.opcode == 0x99)) {
    set(of.opcode == 0x98 ? 0 : 2, false);
  } else {
    registers_ = 0;
    slots_used_ = 0;
  }
}

}  // namespace heapwright::symbolize
