// SPDX-License-Identifier: MIT
// Counts the system calls that heap calls make, by kind, and the time in them. During a heap call the kernel
// redirects the thread's system calls to a handler (syscall user dispatch, Linux 5.11 and later), which makes
// and counts them: exact for the threads that replay, blind to the allocator's own threads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "figures/mapped_array.hpp"
#include "figures/report.hpp"

namespace heapwright::replay {

class SystemCalls {
 public:
  static constexpr std::array<std::string_view, 8> kinds = {"mmap",     "munmap", "mremap", "madvise",
                                                            "mprotect", "brk",    "futex",  "other"};

  explicit SystemCalls(std::size_t lanes);
  // Precondition: of the threads that entered a lane, only the calling one is still running.
  ~SystemCalls();
  SystemCalls(const SystemCalls&) = delete;
  SystemCalls& operator=(const SystemCalls&) = delete;

  // The calling thread runs this lane from now on.
  void enter(std::uint32_t lane) noexcept;
  // Around a heap call of a thread that entered.
  static void begin() noexcept;
  static void end() noexcept;

  // Resets the counts. Precondition: no other thread makes a heap call.
  void reset() noexcept;
  // NAME_calls and NAME_ns for each kind; nothing if the kernel cannot do this.
  void report(figures::Report& report) const;

  struct Sum {
    std::uint64_t calls = 0;
    std::uint64_t ns = 0;
  };
  struct alignas(64) OfLane {
    volatile char selector = 0;  // read by the kernel at each system call of the thread
    std::array<Sum, kinds.size()> sums;
  };

 private:
  std::atomic<bool> is_known_ = false;
  std::uintptr_t restorer_ = 0;
  figures::MappedArray<OfLane> lanes_;
};

}  // namespace heapwright::replay
