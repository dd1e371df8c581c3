// SPDX-License-Identifier: MIT
// Where a function keeps copies of a pointer that a call has returned: in registers, and in its own stack
// frame.
#pragma once

#include <array>
#include <cstdint>

#include "symbolize/x86_instruction.hpp"

namespace heapwright::symbolize {

class PointerCopies {
 public:
  // Behind the call: in rax.
  PointerCopies() noexcept : registers_(1) {}
  // None yet.
  static PointerCopies nowhere() noexcept {
    PointerCopies copies;
    copies.registers_ = 0;
    return copies;
  }

  bool in_register(int number) const noexcept { return (registers_ >> number & 1U) != 0; }
  // At this distance from a frame pointer (rbp, rsp).
  bool at(int base, std::int64_t displacement) const noexcept;
  bool is_lost() const noexcept { return registers_ == 0 && slots_used_ == 0; }

  // An instruction that goes on to the next one. What it may overwrite holds no copy afterwards.
  void pass(const Instruction& instruction) noexcept;
  // The register got the pointer otherwise.
  void add(int number) noexcept { set(number, true); }
  // A call that was not given the pointer: keeps what callees keep.
  void pass_call() noexcept;

 private:
  struct Slot {
    int base;
    std::int64_t displacement;
  };

  void set(int number, bool holds) noexcept;
  void forget_stored(const Instruction& instruction) noexcept;

  std::uint32_t registers_;
  std::array<Slot, 8> slots_{};
  std::size_t slots_used_ = 0;
};

}  // namespace heapwright::symbolize
