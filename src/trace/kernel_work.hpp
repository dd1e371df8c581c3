// SPDX-License-Identifier: MIT
// The kernel's work within one heap call, from the kernel's own records. A leaf.
#pragma once

#include <cstdint>

namespace heapwright::trace {

// fault_ns        from the entry of each page fault to its end, by the kernel's timestamps: less than
//                 the whole fault, since entering and leaving the kernel are outside
// waited_ns       off the processor because the thread waited (for a lock, a page's content)
// preempted_ns    off the processor although runnable
// mappings        address ranges that the call made accessible: mmap, growth by brk or mprotect
// mapped_address  begin of the last one, after the kernel has merged it with its neighbours
// mapped_bytes    its length
// is_incomplete   records of this time were lost
struct KernelWork {
  std::uint32_t faults = 0;
  std::uint32_t waits = 0;
  std::uint32_t preemptions = 0;
  std::uint32_t mappings = 0;
  std::uint64_t fault_ns = 0;
  std::uint64_t waited_ns = 0;
  std::uint64_t preempted_ns = 0;
  std::uint64_t mapped_address = 0;
  std::uint64_t mapped_bytes = 0;
  bool is_incomplete = false;

  bool operator==(const KernelWork&) const = default;

  std::uint64_t descheduled_ns() const noexcept { return waited_ns + preempted_ns; }
  // For a call of that duration: the time with lost records that other records do not explain. The thread may
  // or may not have run then.
  std::uint64_t doubtful_ns(std::uint64_t duration_ns) const noexcept {
    const std::uint64_t seen_ns = fault_ns + descheduled_ns();
    return is_incomplete && seen_ns < duration_ns ? duration_ns - seen_ns : 0;
  }
  // All of its duration that is not known to have been on a processor.
  std::uint64_t off_processor_ns(std::uint64_t duration_ns) const noexcept {
    const std::uint64_t off_ns = descheduled_ns() + doubtful_ns(duration_ns);
    return off_ns < duration_ns ? off_ns : duration_ns;
  }
  bool is_nothing() const noexcept { return *this == KernelWork{}; }

  // Combines two parts of one call, `later` after this one.
  void add(const KernelWork& later) noexcept {
    faults += later.faults;
    waits += later.waits;
    preemptions += later.preemptions;
    mappings += later.mappings;
    fault_ns += later.fault_ns;
    waited_ns += later.waited_ns;
    preempted_ns += later.preempted_ns;
    if (later.mappings != 0) {
      mapped_address = later.mapped_address;
      mapped_bytes = later.mapped_bytes;
    }
    is_incomplete |= later.is_incomplete;
  }
};

// For the event at this index of its batch.
struct EventKernelWork {
  std::uint32_t event = 0;
  KernelWork work;

  bool operator==(const EventKernelWork&) const = default;
};

}  // namespace heapwright::trace
