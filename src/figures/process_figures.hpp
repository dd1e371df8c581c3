// SPDX-License-Identifier: MIT
// The kernel's figures for this process and machine. Uses no heap.
#pragma once

#include <cstdint>
#include <string_view>

namespace heapwright::figures {

constexpr std::uint64_t page_bytes = 4096;

// Exact (smaps_rollup): statm lags by up to 64 pages per thread.
std::uint64_t resident_bytes() noexcept;
// The growth since `before_bytes`; negative if less is resident now.
double resident_growth_bytes(std::uint64_t before_bytes) noexcept;
// The peak since this program was executed. (getrusage's ru_maxrss also includes the process's earlier
// image.)
std::uint64_t peak_resident_bytes() noexcept;
// Private anonymous pages, which include the heap. Exact up to 64 MiB; above that, the kernel's count, which
// lags by up to 64 pages per thread. The peak excludes the file pages that are resident now.
struct AnonymousMemory {
  std::uint64_t resident_bytes = 0;
  std::uint64_t peak_bytes = 0;
};
AnonymousMemory anonymous_memory() noexcept;
// Page faults of the process that needed no disk.
std::uint64_t minor_faults() noexcept;
// How often the calling thread gave up its CPU because it had to wait.
std::uint64_t thread_voluntary_switches() noexcept;
// How often the process's threads gave up their CPUs because they had to wait, and how often they were
// preempted.
struct Switches {
  std::uint64_t voluntary = 0;
  std::uint64_t involuntary = 0;
};
Switches process_switches() noexcept;
// CPU time in the kernel and outside: of all threads of the process, of the calling thread.
std::uint64_t process_cpu_ns() noexcept;
std::uint64_t thread_cpu_ns() noexcept;
std::uint64_t now_ns() noexcept;

// The smaller of MemAvailable and what the control groups still allow.
std::uint64_t available_bytes() noexcept;

// "Name:   123 kB" in a text from /proc, in bytes; 0 if it is not there.
std::uint64_t kilobyte_line(std::string_view text, std::string_view name) noexcept;

}  // namespace heapwright::figures
