// SPDX-License-Identifier: MIT
#include "symbolize/pointer_copies.hpp"

namespace heapwright::symbolize {
namespace {

constexpr int stack_pointer = 4;
constexpr int frame_pointer = 5;
constexpr int register_count = 16;
constexpr std::uint32_t kept_by_callees = 1U << 3 | 1U << 5 | 0xfU << 12;  // rbx, rbp, r12 to r15
constexpr std::int64_t pointer_bytes = 8;

bool is_frame(int base) noexcept { return base == stack_pointer || base == frame_pointer; }

}  // namespace

bool PointerCopies::at(int base, std::int64_t displacement) const noexcept {
  for (std::size_t i = 0; i < slots_used_; ++i) {
    if (slots_[i].base == base && slots_[i].displacement == displacement) return true;
  }
  return false;
}

void PointerCopies::pass(const Instruction& of) noexcept {
  const bool is_copy =
      of.is_move &&
      (of.from == no_register ? is_frame(of.base) && at(of.base, of.displacement) : in_register(of.from));
  for (int number = 0; number < register_count; ++number) {
    if ((of.written >> number & 1U) != 0) set(number, false);
  }
  if (of.stores_elsewhere) slots_used_ = 0;
  if (of.stored_bytes != 0) forget_stored(of);
  if (!is_copy) return;
  if (of.to != no_register) return set(of.to, true);
  const bool has_room = is_frame(of.base) && slots_used_ < slots_.size();
  if (has_room) slots_[slots_used_++] = {of.base, of.displacement};
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

// A store elsewhere than in the frame may be to any place, but not to where the compiler keeps copies.
void PointerCopies::forget_stored(const Instruction& of) noexcept {
  if (!is_frame(of.base)) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < slots_used_; ++i) {
    const std::int64_t distance = of.displacement - slots_[i].displacement;
    const bool is_apart =
        of.base == slots_[i].base && (distance >= pointer_bytes || distance <= -of.stored_bytes);
    if (is_apart) slots_[kept++] = slots_[i];
  }
  slots_used_ = kept;
}

}  // namespace heapwright::symbolize
