// SPDX-License-Identifier: MIT
// What the kernel says of a process's seccomp filters, read alike by the process itself and by the collector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heapwright::session {

inline constexpr std::uint32_t unknown_seccomp = UINT32_MAX;

// `status`: the text of /proc/PID/status, which has "Seccomp:\t2", and since Linux 5.9 "Seccomp_filters:\t3".
// The sum of both, because each may change alone; it grows with each filter. 0: neither is there. Linear.
constexpr std::uint32_t seccomp_status(std::string_view status) noexcept {
  std::uint32_t sum = 0;
  for (const std::string_view label :
       {std::string_view("\nSeccomp:\t"), std::string_view("\nSeccomp_filters:\t")}) {
    const std::size_t found = status.find(label);
    if (found == std::string_view::npos) continue;
    std::uint32_t number = 0;
    for (std::size_t at = found + label.size(); at < status.size(); ++at) {
      const char digit = status[at];
      if (digit < '0' || digit > '9') break;
      number = number * 10 + static_cast<std::uint32_t>(digit - '0');
    }
    sum += number;
  }
  return sum;
}

}  // namespace heapwright::session
