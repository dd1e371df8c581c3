// SPDX-License-Identifier: MIT
// The kernel's own records of a program: page faults, switches, mappings. The
// collector holds the rings, one for each CPU, so that the program has neither
// a descriptor nor a mapping of them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heapwright::collect {

enum class KernelRecordKind : std::uint8_t {
  fault,       // a page fault from user code begins
  fault_done,  // it has ended
  preempted,   // off the processor, though it could run
  waits,       // off the processor, since it waits
  resumed,     // on a processor again
  mapping,     // [address, address + amount) has become accessible, or was extended to this
};

struct KernelRecord {
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t address = 0;
  std::uint64_t amount = 0;
  std::uint32_t thread_id = 0;  // as the collector's PID namespace has it
  KernelRecordKind kind = KernelRecordKind::fault;
};

class KernelRings {
 public:
  KernelRings() = default;
  ~KernelRings();
  KernelRings(const KernelRings&) = delete;
  KernelRings& operator=(const KernelRings&) = delete;

  // Opens rings for a process that does nothing yet, and the threads it will have; with
  // `with_children` its children as well. Returns why that is refused, "" when it is not; then
  // nothing is open.
  std::string open(pid_t process, bool with_children);
  bool is_open() const noexcept { return !rings_.empty(); }
  // A reader at this interval finds the rings at most half full, however fast the program faults.
  std::uint64_t longest_pause_ns() const noexcept;
  // One load for each CPU.
  bool has_records() const noexcept;
  // Appends what is there and gives its room back. Rising times, except for records of
  // different CPUs that come while this reads. Returns whether some may be missing since the last
  // call: the kernel tells of those it dropped with a later record, so a full ring counts as well.
  bool read(std::vector<KernelRecord>& records);
  // Records that the kernel has dropped, as far as it has said.
  std::uint64_t lost() const noexcept { return lost_; }

 private:
  struct Ring {
    int descriptor = -1;
    void* memory = nullptr;
    std::uint64_t fault_id = 0;
    std::uint64_t tail = 0;
    bool was_full = false;  // at the last read
  };

  int open_ring(pid_t process, int cpu, bool with_children);
  bool read_ring(Ring& ring, std::vector<KernelRecord>& records);
  void close_all();

  std::vector<Ring> rings_;
  std::vector<int> joined_;  // events that write to a ring of rings_
  std::size_t data_bytes_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace heapwright::collect
