// SPDX-License-Identifier: MIT
// The addresses that a walk may load from.
//
// On the thread's own stack that is [stack pointer, top), known without a system call. On any other stack
// (sigaltstack, coroutine) it is the pages that the kernel has confirmed as readable during this capture.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>

namespace heapwright::unwind {

// The calling thread's own stack. All zero = unknown: every stack is foreign.
struct OwnStack {
  std::uint64_t top = 0;           // first address above it
  std::uint64_t low = 0;           // [low, top) is known to be mapped
  std::uint64_t hole = 0;          // highest unreadable page below low; 0 = none found
  bool is_initial_thread = false;  // the kernel's stack, which nothing else may enter
  const std::atomic<std::uint32_t>* is_confined = nullptr;  // above 0: no system call may be made
};

OwnStack find_own_stack(std::uint64_t stack_pointer, const std::atomic<std::uint32_t>* is_confined) noexcept;

// Slow part of StackBounds::enter: moves `own.low` down to `stack_pointer` if every page in between is
// readable.
[[gnu::cold]] bool extend_own_stack(OwnStack& own, std::uint64_t stack_pointer) noexcept;

// One system call; keeps errno. False in a confined process.
[[gnu::cold]] bool is_page_readable(const std::atomic<std::uint32_t>* is_confined,
                                    std::uint64_t address) noexcept;

inline std::uint64_t load_word(std::uint64_t address) {
  std::uint64_t value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}

// A word as a return address: on aarch64 without the signature that it may have in its upper bits.
inline std::uint64_t code_address(std::uint64_t word) {
#if defined(__aarch64__)
  return word & ((1ULL << 48) - 1);
#else
  return word;
#endif
}

class StackBounds {
 public:
  static constexpr std::uint64_t page_bytes = 4096;

  // Bounds for frames from `stack_pointer` outwards.
  [[gnu::always_inline]] void enter(OwnStack& own, std::uint64_t stack_pointer) {
    is_own_ = stack_pointer < own.top && (stack_pointer >= own.low || extend_own_stack(own, stack_pointer));
    low_ = is_own_ ? stack_pointer & ~7ULL : 0;
    words_ = is_own_ ? (own.top - low_) / 8 : 0;
    is_confined_ = own.is_confined;
  }

  bool is_own() const { return is_own_; }

  // False: not aligned, out of bounds, or not readable.
  [[gnu::always_inline]] bool load(std::uint64_t address, std::uint64_t& value) {
    // The rotation moves low bits of an unaligned address to the top.
    if (std::rotr(address - low_, 3) >= words_) [[unlikely]] {
      if ((address & 7) != 0 || is_own_ || !is_page_readable(is_confined_, address)) return false;
      low_ = address & ~(page_bytes - 1);
      words_ = page_bytes / 8;
    }
    value = load_word(address);
    return true;
  }

 private:
  std::uint64_t low_ = 0;
  std::uint64_t words_ = 0;
  const std::atomic<std::uint32_t>* is_confined_ = nullptr;
  bool is_own_ = false;
};

}  // namespace heapwright::unwind
