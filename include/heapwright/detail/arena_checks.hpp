// SPDX-License-Identifier: MIT
// The checks of an arena: stale markers, and objects that own memory outside it.
#ifndef HEAPWRIGHT_DETAIL_ARENA_CHECKS_HPP
#define HEAPWRIGHT_DETAIL_ARENA_CHECKS_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/heap_hook.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

#if HEAPWRIGHT_CHECKED

// Detects markers above the arena's last rewind. Earlier rewinds are forgotten.
class rewind_check {
 public:
  struct stamp {
    const rewind_check* arena = nullptr;
    std::uint32_t rewinds = 0;
  };
  stamp now() const noexcept { return {this, rewinds_}; }
  bool is_own(const stamp& marker) const noexcept { return marker.arena == this; }
  // `requested` is the arena's value when the marker was taken.
  bool is_above(const stamp& marker, std::size_t requested) const noexcept {
    return marker.rewinds != rewinds_ && requested > rewound_to_;
  }
  void rewound(std::size_t requested) noexcept {
    ++rewinds_;
    rewound_to_ = requested;
  }

 private:
  std::size_t rewound_to_ = 0;
  std::uint32_t rewinds_ = 0;
};

#else

class rewind_check {
 public:
  struct stamp {};
  stamp now() const noexcept { return {}; }
  void rewound(std::size_t) noexcept {}
};

#endif

// Counts the thread's heap calls that are not the arena's own.
class foreign_memory_watch {
 public:
  // False if no hook counts heap calls.
  bool start() noexcept {
    if (can_count()) own_calls_ = 0;
    return is_on();
  }
  bool is_on() const noexcept { return own_calls_ != off; }
  std::uint64_t calls() const noexcept { return is_on() ? count_calls() : 0; }
  // Marks the calls since `before` as the arena's own.
  void were_own(std::uint64_t before) noexcept {
    if (is_on()) own_calls_ += calls() - before;
  }
  void check(std::uint64_t before, const char* function_name) const noexcept {
    if (is_on()) stop_if_changed(before, function_name);
  }

 private:
  static bool can_count() noexcept {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Waddress"  // not weak in the file that defines the function
    return heapwright_thread_heap_calls != nullptr;
#pragma GCC diagnostic pop
  }

  [[gnu::noinline]] std::uint64_t count_calls() const noexcept {
    std::uint64_t allocations = 0;
    std::uint64_t releases = 0;
    heapwright_thread_heap_calls(&allocations, &releases);
    return allocations + releases - own_calls_;
  }
  [[gnu::noinline]] void stop_if_changed(std::uint64_t before, const char* function_name) const noexcept {
    if (count_calls() == before) return;
    std::fprintf(stderr, "heapwright::arena: an object owns memory outside the arena: %s\n", function_name);
    std::abort();
  }

  static constexpr std::uint64_t off = UINT64_MAX;
  std::uint64_t own_calls_ = off;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
