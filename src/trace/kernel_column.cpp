// SPDX-License-Identifier: MIT
#include "trace/kernel_column.hpp"

#include <algorithm>

#include "trace/damage.hpp"

namespace heapwright::trace {

namespace {

// The parts of an entry, in this order. Part of the format.
constexpr std::uint64_t has_faults = 1;
constexpr std::uint64_t has_waits = 2;
constexpr std::uint64_t has_preemptions = 4;
constexpr std::uint64_t has_mappings = 8;
constexpr std::uint64_t is_incomplete = 16;
constexpr std::uint64_t all_parts = 31;

constexpr std::uint64_t unit_bytes = 4096;
// Sums of such durations stay far below 2^64.
constexpr std::uint64_t longest_ns = 1ULL << 40U;
constexpr std::uint64_t most_units = 1ULL << 45U;

std::uint64_t number(base::ByteSource& column, std::uint64_t most) {
  const std::uint64_t value = column.varint();
  if (value > most) throw TraceError("the kernel's work in a call is impossible");
  return value;
}

void count_and_time(base::ByteSource& column, std::uint32_t& count, std::uint64_t& time_ns) {
  count = static_cast<std::uint32_t>(number(column, UINT32_MAX));
  time_ns = number(column, longest_ns);
}

}  // namespace

void KernelColumn::add(std::uint32_t event, const KernelWork& work) {
  const auto put = [this](std::uint32_t count, std::uint64_t time_ns) {
    bytes_.put(count);
    bytes_.put(std::min(time_ns, longest_ns));
  };
  bytes_.put(event - next_event_);
  next_event_ = event + 1;
  bytes_.put((work.faults != 0 ? has_faults : 0) | (work.waits != 0 ? has_waits : 0) |
             (work.preemptions != 0 ? has_preemptions : 0) | (work.mappings != 0 ? has_mappings : 0) |
             (work.is_incomplete ? is_incomplete : 0));
  if (work.faults != 0) put(work.faults, work.fault_ns);
  if (work.waits != 0) put(work.waits, work.waited_ns);
  if (work.preemptions != 0) put(work.preemptions, work.preempted_ns);
  if (work.mappings == 0) return;
  bytes_.put(work.mappings);
  bytes_.put(std::min(work.mapped_address / unit_bytes, most_units));
  bytes_.put(std::min(work.mapped_bytes / unit_bytes, most_units));
}

void decode_kernel_column(base::ByteSource column, std::size_t count, std::vector<EventKernelWork>& entries) {
  entries.clear();
  std::uint64_t next_event = 0;
  while (column.remaining() != 0) {
    EventKernelWork entry;
    const std::uint64_t event = next_event + number(column, count);
    if (event >= count) throw TraceError("the kernel's work names a call that does not exist");
    entry.event = static_cast<std::uint32_t>(event);
    next_event = event + 1;
    const std::uint64_t parts = column.varint();
    KernelWork& work = entry.work;
    if ((parts & has_faults) != 0) count_and_time(column, work.faults, work.fault_ns);
    if ((parts & has_waits) != 0) count_and_time(column, work.waits, work.waited_ns);
    if ((parts & has_preemptions) != 0) count_and_time(column, work.preemptions, work.preempted_ns);
    if ((parts & has_mappings) != 0) {
      work.mappings = static_cast<std::uint32_t>(number(column, UINT32_MAX));
      work.mapped_address = number(column, most_units) * unit_bytes;
      work.mapped_bytes = number(column, most_units) * unit_bytes;
    }
    work.is_incomplete = (parts & is_incomplete) != 0;
    if (parts > all_parts || column.has_failed()) {
      throw TraceError("the kernel's work in a call is incomplete");
    }
    entries.push_back(entry);
  }
}

}  // namespace heapwright::trace
