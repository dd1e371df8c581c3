// SPDX-License-Identifier: MIT
// The kernel's records of a program: page faults, context switches, mappings. The collector holds the rings,
// one for each CPU, so that the program has no descriptor or mapping for them.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

struct perf_event_attr;

namespace heapwright::collect {

enum class KernelRecordKind : std::uint8_t {
  fault,       // a page fault begins; those of system calls only if the kernel allows it
  fault_done,  // the fault has been handled
  preempted,   // switched out while runnable
  waits,       // switched out to wait
  resumed,     // switched in again
  mapping,     // [address, address + amount) became accessible, or a mapping grew to this
};

struct KernelRecord {
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t address = 0;
  std::uint64_t amount = 0;
  std::uint32_t thread_id = 0;  // in the collector's PID namespace
  std::uint32_t process_id = 0;
  KernelRecordKind kind = KernelRecordKind::fault;
};

class KernelRings {
 public:
  KernelRings() = default;
  ~KernelRings();
  KernelRings(const KernelRings&) = delete;
  KernelRings& operator=(const KernelRings&) = delete;

  // Opens rings for the threads that a process has and will create; with `with_children` for its children as
  // well. Returns why that failed, or "". After a failure nothing is open. Descriptors: three for each thread
  // that it has, on each processor.
  std::string open(pid_t process, bool with_children);
  bool is_open() const noexcept { return !rings_.empty(); }
  // Whether page faults in system calls have records, too.
  bool sees_system_calls() const noexcept { return !excludes_kernel_; }
  // A reader at this interval finds the rings at most half full, however fast the program faults.
  std::uint64_t longest_pause_ns() const noexcept;
  // One load per CPU.
  bool has_records() const noexcept;
  // Appends the available records and frees their space. Times rise, except for records of different CPUs
  // that arrive during the read. Returns whether records since the last call may be missing: the kernel
  // reports drops only with a later record, so a full ring counts as a loss.
  bool read(std::vector<KernelRecord>& records);
  // Records that the kernel has dropped, as far as it has reported.
  std::uint64_t lost() const noexcept { return lost_; }

 private:
  struct Ring {
    int descriptor = -1;
    void* memory = nullptr;
    int cpu = 0;
    std::vector<std::uint64_t> fault_ids;  // of each thread's event; sorted, as the kernel counts them up
    std::uint64_t tail = 0;
    bool was_full = false;  // at the last read

    bool begins_fault(std::uint64_t id) const noexcept {
      return std::binary_search(fault_ids.begin(), fault_ids.end(), id);
    }
  };

  int open_rings(pid_t thread, bool with_children);
  int open_ring(pid_t thread, int cpu, bool with_children);
  int join(const Ring& ring, pid_t thread, perf_event_attr& attributes);
  int join_ends_of_faults(const Ring& ring, pid_t thread, bool with_children);
  int join_thread(pid_t thread, bool with_children);
  bool read_ring(Ring& ring, std::vector<KernelRecord>& records);
  void close_all();

  std::vector<Ring> rings_;
  std::vector<int> joined_;  // events that write to a ring of rings_
  std::size_t data_bytes_ = 0;
  bool excludes_kernel_ = true;
  std::uint64_t lost_ = 0;
};

}  // namespace heapwright::collect
