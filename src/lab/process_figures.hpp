// SPDX-License-Identifier: MIT
// What the kernel says about this process and machine. Uses no heap.
#pragma once

#include <cstdint>
#include <string_view>

namespace heapwright::lab {

constexpr std::uint64_t page_bytes = 4096;

// Exact (smaps_rollup): statm lags behind by up to 64 pages per thread.
std::uint64_t resident_bytes() noexcept;
// How much more is resident now than `before_bytes`; below zero when it is less.
double resident_growth_bytes(std::uint64_t before_bytes) noexcept;
// The most that was ever resident.
std::uint64_t peak_resident_bytes() noexcept;
// Page faults of the process that needed no disk.
std::uint64_t minor_faults() noexcept;
// How often the calling thread gave up its CPU because it had to wait.
std::uint64_t thread_voluntary_switches() noexcept;
std::uint64_t now_ns() noexcept;

// The smaller of MemAvailable and what the control group still allows.
std::uint64_t available_bytes() noexcept;

// "Name:   123 kB" in a text of /proc, in bytes; 0 when it is not there.
std::uint64_t kilobyte_line(std::string_view text, std::string_view name) noexcept;

}  // namespace heapwright::lab
