// SPDX-License-Identifier: MIT
// Which calls are a remedy's: by their return address, and for those alone by the return addresses of the
// frames around it. How far each is on the stack follows from the unwind tables of the code that called, read
// when the file's stacks are armed; so a call that is no remedy's costs one look-up in half a KiB.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "apply/remedies.hpp"
#include "unwind/rule.hpp"

namespace heapwright::apply {

// A stack of the file in this process.
struct ArmedStack {
  std::uint64_t addresses[most_frames];
  unwind::Rule rules[most_frames];  // from a frame to the one around it
  std::uint32_t frame_count;        // 0: it is not loaded
  std::uint32_t remedy;
};

inline constexpr std::uint64_t site_hash_factor = 0x9E3779B97F4A7C15;
inline constexpr unsigned site_filter_bits = 12;
[[gnu::visibility("hidden")]] extern constinit std::atomic<std::uint64_t>
    site_filter[(1U << site_filter_bits) / 64];

// False: the call returning there is no remedy's. True: maybe.
[[gnu::always_inline]] inline bool may_be_site(const void* return_address) noexcept {
  const std::uint64_t bit =
      reinterpret_cast<std::uint64_t>(return_address) * site_hash_factor >> (64 - site_filter_bits);
  return (site_filter[bit / 64].load(std::memory_order_relaxed) >> (bit % 64) & 1) != 0;
}

inline constexpr std::uint32_t no_remedy = ~0U;

// frame: of the called function, as __builtin_frame_address(0): the caller's frame pointer, the return
// address, and then the caller's frame. Takes no lock; while stacks are armed anew, no call is a remedy's.
std::uint32_t remedy_of_call(const void* frame) noexcept;

// Replaces what is armed. One thread at a time.
void arm_stacks(const ArmedStack* stacks, std::size_t count) noexcept;

}  // namespace heapwright::apply
