// SPDX-License-Identifier: MIT
#include "collect/kernel_rings.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "collect/proc_files.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::collect {
namespace {

// By default the kernel lets a user lock 516 KiB for each CPU; with many CPUs the rings share the collector's
// limit.
constexpr std::size_t largest_ring_bytes = 512 * 1024;
constexpr std::size_t smallest_ring_bytes = 16 * 1024;
constexpr std::size_t all_rings_bytes = 4 * 1024 * 1024;
// A mapping record with its path; the kernel drops records that do not fit into the ring.
constexpr std::size_t longest_record_bytes = 4096 + 256;

// A record's fields after its header, in the order that sample_type below gives.
struct Sample {
  std::uint64_t id;
  std::uint32_t process_id;
  std::uint32_t thread_id;
  std::uint64_t time_ns;
  std::uint64_t address;
};
struct Identity {  // at the end of every record that is not a sample
  std::uint32_t process_id;
  std::uint32_t thread_id;
  std::uint64_t time_ns;
  std::uint64_t id;
};
struct MappingRecord {
  std::uint32_t process_id;
  std::uint32_t thread_id;
  std::uint64_t address;
  std::uint64_t bytes;
};
struct LostRecord {
  std::uint64_t id;
  std::uint64_t count;
};

// inherit_thread is newer than the headers this may be built with: it is the bit after build_id.
void follow_threads_only(perf_event_attr& attributes) {
  constexpr std::size_t flags_at = offsetof(perf_event_attr, read_format) + sizeof(attributes.read_format);
  constexpr std::uint64_t inherit_thread = 1ULL << 35U;
  std::uint64_t flags = 0;
  std::memcpy(&flags, reinterpret_cast<char*>(&attributes) + flags_at, sizeof flags);
  flags |= inherit_thread;
  std::memcpy(reinterpret_cast<char*>(&attributes) + flags_at, &flags, sizeof flags);
}

// Only software events: they need no hardware counters, and so work in virtual machines.
perf_event_attr attributes_of(std::uint64_t software_event, bool with_children, bool excludes_kernel) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = software_event;
  attributes.sample_period = 1;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_IDENTIFIER;
  attributes.sample_id_all = 1;
  attributes.exclude_kernel = excludes_kernel ? 1 : 0;
  attributes.exclude_hv = 1;
  attributes.inherit = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.watermark = 1;  // nothing waits on the ring: see longest_pause_ns()
  attributes.wakeup_watermark = UINT32_MAX / 2;
  if (!with_children) follow_threads_only(attributes);
  return attributes;
}

// Page faults, and beside them switches and mappings.
perf_event_attr attributes_of_ring(bool with_children, bool excludes_kernel) {
  perf_event_attr attributes = attributes_of(PERF_COUNT_SW_PAGE_FAULTS, with_children, excludes_kernel);
  attributes.context_switch = 1;
  attributes.mmap = 1;
  attributes.mmap_data = 1;
  return attributes;
}

std::uint64_t id_of(int descriptor) {
  std::uint64_t id = 0;
  ioctl(descriptor, PERF_EVENT_IOC_ID, &id);
  return id;
}

std::size_t processors() { return static_cast<std::size_t>(std::max(sysconf(_SC_NPROCESSORS_CONF), 1L)); }

int open_event(perf_event_attr& attributes, pid_t process, int cpu) {
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, process, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

// Page faults of system calls, such as a read into new memory: most users may not see them. Switches and
// mappings are reported anyway.
bool may_see_system_calls(pid_t process, bool with_children) {
  perf_event_attr attributes = attributes_of(PERF_COUNT_SW_PAGE_FAULTS, with_children, false);
  const int descriptor = open_event(attributes, process, -1);
  // With `inherit`, an event on every processor cannot have a ring, but it can be opened.
  if (descriptor >= 0) close(descriptor);
  return descriptor >= 0;
}

std::string reason_of(int error_number) {
  const std::string paranoid = read_file("/proc/sys/kernel/perf_event_paranoid");
  const std::string level = paranoid.substr(0, paranoid.find('\n'));
  switch (error_number) {
    case EACCES:
    case EPERM:
      return level.empty() || level[0] == '-' || level <= "2"
                 ? "not allowed here (a container's rules, or no memory to lock)"
                 : "not allowed: kernel.perf_event_paranoid is " + level + "; 2 is enough";
    case ENOSYS:
    case ENOENT:
      return "this kernel has no perf events, or a filter hides them";
    case EMFILE:
      return "not enough open files for its threads; raise the limit: ulimit -n";
    case EINVAL:
      return "this kernel is too old for it";
    default:
      return std::strerror(error_number);
  }
}

std::size_t ring_bytes_for(std::size_t cpus) {
  const std::size_t share = all_rings_bytes / std::max<std::size_t>(cpus, 1);
  return std::clamp(std::bit_floor(share), smallest_ring_bytes, largest_ring_bytes);
}

// Copies from a ring; a record may wrap around its end.
void copy_from(const std::uint8_t* data, std::size_t ring_bytes, std::uint64_t at, void* to,
               std::size_t bytes) {
  const std::size_t offset = at & (ring_bytes - 1);
  const std::size_t first = std::min(bytes, ring_bytes - offset);
  std::memcpy(to, data + offset, first);
  std::memcpy(static_cast<std::uint8_t*>(to) + first, data, bytes - first);
}

bool is_earlier(const KernelRecord& a, const KernelRecord& b) noexcept { return a.time_ns < b.time_ns; }

perf_event_mmap_page& page_of(void* memory) noexcept { return *static_cast<perf_event_mmap_page*>(memory); }

std::uint64_t head_of(void* memory) noexcept {
  return __atomic_load_n(&page_of(memory).data_head, __ATOMIC_ACQUIRE);
}

}  // namespace

KernelRings::~KernelRings() { close_all(); }

void KernelRings::close_all() {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const int descriptor : joined_) close(descriptor);
  for (const Ring& ring : rings_) {
    if (ring.memory != nullptr) munmap(ring.memory, data_bytes_ + page_bytes);
    if (ring.descriptor >= 0) close(ring.descriptor);
  }
  joined_.clear();
  rings_.clear();
}

std::string KernelRings::open(pid_t process, bool with_children) {
  const std::vector<std::uint32_t> threads = numbers_in("/proc/" + std::to_string(process) + "/task");
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  data_bytes_ = std::max(ring_bytes_for(processors()), page_bytes);
  int error_number = ESRCH;
  excludes_kernel_ = !may_see_system_calls(tracee::with_memory(process), with_children);
  for (const std::uint32_t thread : threads) {
    const auto id = static_cast<pid_t>(thread);
    error_number = is_open() ? join_thread(id, with_children) : open_rings(id, with_children);
    // The limit of locked memory is shared with the user's other recordings.
    while (error_number == EPERM && !is_open() &&
           data_bytes_ / 2 >= std::max(smallest_ring_bytes, page_bytes)) {
      data_bytes_ /= 2;
      error_number = open_rings(id, with_children);
    }
    if (error_number != 0 && error_number != ESRCH) break;
  }
  if (is_open() && error_number == ESRCH) error_number = 0;  // the last one has ended
  if (error_number == 0) return "";
  close_all();
  return reason_of(error_number);
}

// On every processor. 0 or an errno, with nothing open.
int KernelRings::open_rings(pid_t thread, bool with_children) {
  for (int cpu = 0; cpu < static_cast<int>(processors()); ++cpu) {
    const int error_number = open_ring(thread, cpu, with_children);
    if (error_number == 0 || error_number == ENODEV) continue;  // an offline processor
    close_all();
    return error_number;
  }
  return is_open() ? 0 : ENODEV;
}

// 0 or an errno.
int KernelRings::open_ring(pid_t thread, int cpu, bool with_children) {
  perf_event_attr attributes = attributes_of_ring(with_children, excludes_kernel_);
  Ring ring;
  ring.descriptor = open_event(attributes, thread, cpu);
  if (ring.descriptor < 0) return errno;
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory =
      mmap(nullptr, data_bytes_ + page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.descriptor, 0);
  if (memory == MAP_FAILED) {
    const int error_number = errno;
    close(ring.descriptor);
    return error_number;
  }
  ring.memory = memory;
  ring.cpu = cpu;
  ring.fault_ids.push_back(id_of(ring.descriptor));
  rings_.push_back(std::move(ring));
  return join_ends_of_faults(rings_.back(), thread, with_children);
}

// 0 or an errno.
int KernelRings::join(const Ring& ring, pid_t thread, perf_event_attr& attributes) {
  const int descriptor = open_event(attributes, thread, ring.cpu);
  if (descriptor < 0) return errno;
  joined_.push_back(descriptor);
  return ioctl(descriptor, PERF_EVENT_IOC_SET_OUTPUT, ring.descriptor) == 0 ? 0 : errno;
}

int KernelRings::join_ends_of_faults(const Ring& ring, pid_t thread, bool with_children) {
  for (const std::uint64_t end_of_fault : {PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ}) {
    perf_event_attr ends = attributes_of(end_of_fault, with_children, excludes_kernel_);
    if (const int error_number = join(ring, thread, ends); error_number != 0) return error_number;
  }
  return 0;
}

// Another thread of a process that runs already. One that begins meanwhile may stay without records.
int KernelRings::join_thread(pid_t thread, bool with_children) {
  for (Ring& ring : rings_) {
    perf_event_attr attributes = attributes_of_ring(with_children, excludes_kernel_);
    if (const int error_number = join(ring, thread, attributes); error_number != 0) return error_number;
    ring.fault_ids.push_back(id_of(joined_.back()));
    const int error_number = join_ends_of_faults(ring, thread, with_children);
    if (error_number != 0) return error_number;
  }
  return 0;
}

// A page fault takes at least this long, and its two records take 80 bytes.
std::uint64_t KernelRings::longest_pause_ns() const noexcept {
  constexpr std::uint64_t shortest_fault_ns = 1'000;
  constexpr std::uint64_t fault_bytes = 80;
  return is_open() ? data_bytes_ / fault_bytes * shortest_fault_ns / 2 : UINT64_MAX;
}

bool KernelRings::has_records() const noexcept {
  return std::any_of(rings_.begin(), rings_.end(),
                     [](const Ring& ring) { return head_of(ring.memory) != ring.tail; });
}

bool KernelRings::read(std::vector<KernelRecord>& records) {
  bool is_incomplete = false;
  for (Ring& ring : rings_) {
    const auto middle = static_cast<std::ptrdiff_t>(records.size());
    is_incomplete |= read_ring(ring, records);
    std::inplace_merge(records.begin(), records.begin() + middle, records.end(), is_earlier);
  }
  return is_incomplete;
}

bool KernelRings::read_ring(Ring& ring, std::vector<KernelRecord>& records) {
  const std::uint64_t head = head_of(ring.memory);
  const auto* data = static_cast<const std::uint8_t*>(ring.memory) + sysconf(_SC_PAGESIZE);
  const auto take = [&](std::uint64_t at, auto& value) {
    copy_from(data, data_bytes_, at, &value, sizeof value);
  };
  const std::uint64_t first = ring.tail;
  const bool is_full = data_bytes_ - (head - first) < longest_record_bytes;
  bool is_incomplete = is_full;
  while (ring.tail < head) {
    const bool is_first = ring.tail == first;
    perf_event_header header{};
    take(ring.tail, header);
    if (header.size < sizeof header) {
      ring.tail = head;  // cannot be parsed
      break;
    }
    const std::uint64_t body = ring.tail + sizeof header;
    ring.tail += header.size;
    if (header.type == PERF_RECORD_SAMPLE) {
      Sample sample{};
      take(body, sample);
      const auto kind = ring.begins_fault(sample.id) ? KernelRecordKind::fault : KernelRecordKind::fault_done;
      records.push_back({sample.time_ns, sample.address, 0, sample.thread_id, sample.process_id, kind});
      continue;
    }
    KernelRecord record;
    Identity identity{};
    take(ring.tail - sizeof identity, identity);
    record.time_ns = identity.time_ns;
    record.thread_id = identity.thread_id;
    record.process_id = identity.process_id;
    if (header.type == PERF_RECORD_SWITCH) {
      const bool is_out = (header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
      const bool is_preempted = (header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
      record.kind = is_preempted ? KernelRecordKind::preempted : KernelRecordKind::waits;
      if (!is_out) record.kind = KernelRecordKind::resumed;
    } else if (header.type == PERF_RECORD_MMAP) {
      MappingRecord mapping{};
      take(body, mapping);
      record.kind = KernelRecordKind::mapping;
      record.address = mapping.address;
      record.amount = mapping.bytes;
    } else if (header.type == PERF_RECORD_LOST) {
      LostRecord lost{};
      take(body, lost);
      lost_ += lost.count;
      // Losses because the ring was full were already reported at the last read.
      is_incomplete |= !(is_first && ring.was_full);
      continue;
    } else {
      continue;
    }
    records.push_back(record);
  }
  __atomic_store_n(&page_of(ring.memory).data_tail, ring.tail, __ATOMIC_RELEASE);
  ring.was_full = is_full;
  return is_incomplete;
}

}  // namespace heapwright::collect
