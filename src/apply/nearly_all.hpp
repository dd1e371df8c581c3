// SPDX-License-Identifier: MIT
// When a site is segregated in vain: its small blocks are nearly all of the process's resident memory, look
// after look. Then there is nothing to keep apart from them, whether they live long or not. Large blocks have
// pages of their own anyway.
#pragma once

#include <cstdint>

namespace heapwright::apply {

inline constexpr std::uint64_t least_bytes_of_nearly_all = std::uint64_t{64} << 20;
inline constexpr std::uint32_t looks_of_nearly_all = 4;
inline constexpr std::uint64_t ns_between_looks = 1'000'000'000;

class NearlyAll {
 public:
  // small_bytes: of the site's live blocks of up to 64 KiB. Whether it was so at enough looks in a row.
  bool look(std::uint64_t small_bytes, std::uint64_t resident_bytes) noexcept {
    const bool is_so = small_bytes >= least_bytes_of_nearly_all && small_bytes >= resident_bytes / 8 * 7;
    looks_ = is_so ? looks_ + 1 : 0;
    return looks_ >= looks_of_nearly_all;
  }

 private:
  std::uint32_t looks_ = 0;
};

}  // namespace heapwright::apply
