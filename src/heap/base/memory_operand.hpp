// SPDX-License-Identifier: MIT
// Words that one thread writes and others read, and the instructions that use them in place: compilers first
// load an atomic into a register, which on the fast paths costs two instructions of some twenty.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapwright::heap {

// Written by one thread and read by others, for which a stale value is acceptable.
template <typename Value>
class Relaxed {
 public:
  operator Value() const noexcept { return value_.load(std::memory_order_relaxed); }
  Relaxed& operator=(Value value) noexcept {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }

 private:
  std::atomic<Value> value_;
};

#if defined(__x86_64__)

[[gnu::always_inline]] inline bool is_below(std::size_t value,
                                            const std::atomic<std::size_t>& bound) noexcept {
  bool is_below = false;
  asm("cmpq %2, %1" : "=@ccb"(is_below) : "r"(value), "m"(bound));
  return is_below;
}
[[gnu::always_inline]] inline bool is_equal(std::uint32_t value,
                                            const Relaxed<std::uint32_t>& other) noexcept {
  bool is_equal = false;
  asm("cmpl %2, %1" : "=@cce"(is_equal) : "r"(value), "m"(other));
  return is_equal;
}
// For the thread that writes it.
[[gnu::always_inline]] inline void add_one(Relaxed<std::uint32_t>& count) noexcept {
  asm("addl $1, %0" : "+m"(count) : : "cc");
}

#else

inline bool is_below(std::size_t value, const std::atomic<std::size_t>& bound) noexcept {
  return value < bound.load(std::memory_order_relaxed);
}
inline bool is_equal(std::uint32_t value, const Relaxed<std::uint32_t>& other) noexcept {
  return value == other;
}
inline void add_one(Relaxed<std::uint32_t>& count) noexcept { count = count + 1; }

#endif

}  // namespace heapwright::heap
