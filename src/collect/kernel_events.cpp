// SPDX-License-Identifier: MIT
#include "collect/kernel_events.hpp"

#include <algorithm>
#include <iterator>

namespace heapwright::collect {
namespace {

// Two readings at least this far apart show how the clocks' speeds differ: NTP may slow one by 0.05 %.
constexpr std::uint64_t shortest_base_ns = 1'000'000;
constexpr std::uint64_t forget_interval_ns = 1'000'000'000;
constexpr std::size_t most_threads = 16384;
constexpr std::size_t most_processes = 4096;
// Pending records of all threads: about 7 MB. A few threads may have many each.
constexpr std::size_t most_parts = 65536;
constexpr std::size_t least_parts_of_thread = 128;
constexpr std::size_t most_parts_of_thread = 16384;

}  // namespace

PendingWork* KernelEvents::of(std::uint32_t thread_id) {
  auto found = threads_.find(thread_id);
  if (found == threads_.end()) {
    // All of its records may be among the lost ones.
    if (gap_to_ns_ == 0 || threads_.size() >= most_threads) return nullptr;
    found = add_thread(thread_id);
  }
  found->second.makes_calls = true;
  return &found->second.pending;
}

std::unordered_map<std::uint32_t, KernelEvents::ThreadWork>::iterator KernelEvents::add_thread(
    std::uint32_t thread_id) {
  const auto added = threads_.try_emplace(thread_id).first;
  if (gap_to_ns_ != 0) added->second.pending.add_gap(gap_from_ns_, gap_to_ns_);
  return added;
}

void KernelEvents::forget(std::uint32_t thread_id) {
  const auto found = threads_.find(thread_id);
  if (found == threads_.end()) return;
  close(found->second);
  threads_.erase(found);
}

Refaults* KernelEvents::faults_of(std::uint32_t process_id) {
  const auto found = processes_.find(process_id);
  if (found != processes_.end()) return &found->second;
  return processes_.size() < most_processes ? &processes_[process_id] : nullptr;
}

// Its faults were counted when they came.
void KernelEvents::close(ThreadWork& thread) {
  const auto found = processes_.find(thread.process_id);
  if (found != processes_.end()) found->second.close(thread.faults);
}

void KernelEvents::add_faults_of(std::uint32_t process_id, trace::ProcessorSample& sample) const {
  const auto found = processes_.find(process_id);
  if (found != processes_.end()) found->second.add_to(sample);
}

std::vector<trace::RefaultRun> KernelEvents::take_refaults_of(std::uint32_t process_id) {
  const auto found = processes_.find(process_id);
  if (found == processes_.end()) return {};
  for (auto& [_, thread] : threads_) {
    if (thread.process_id == process_id) found->second.close(thread.faults);
  }
  return found->second.take();
}

// A record lies between the previous reading and this one: interpolates the clocks' difference.
std::uint64_t KernelEvents::on_trace_clock(std::uint64_t monotonic_ns) const noexcept {
  const auto before_now = static_cast<std::int64_t>(now_.monotonic_ns - monotonic_ns);
  std::int64_t correction = 0;
  if (earlier_.monotonic_ns != 0) {
    const auto monotonic = static_cast<std::int64_t>(now_.monotonic_ns - earlier_.monotonic_ns);
    const auto trace = static_cast<std::int64_t>(now_.ns - earlier_.ns);
    correction =
        static_cast<std::int64_t>(static_cast<double>(before_now) *
                                  (static_cast<double>(trace - monotonic) / static_cast<double>(monotonic)));
  }
  const auto time_ns = static_cast<std::int64_t>(now_.ns) - before_now - correction;
  return time_ns > 0 ? static_cast<std::uint64_t>(time_ns) : 0;
}

void KernelEvents::read() {
  records_.clear();
  const bool is_incomplete = rings_.read(records_);
  const TickClock::Moment last = now_;
  now_ = clock_.moment();
  if (now_.monotonic_ns - last.monotonic_ns >= shortest_base_ns) earlier_ = last;
  for (const KernelRecord& record : records_) {
    auto found = threads_.find(record.thread_id);
    if (found == threads_.end()) {
      if (threads_.size() >= most_threads) continue;
      found = add_thread(record.thread_id);
    }
    const std::size_t parts =
        std::clamp(most_parts / threads_.size(), least_parts_of_thread, most_parts_of_thread);
    ThreadWork& thread = found->second;
    const std::uint64_t time_ns = on_trace_clock(record.time_ns);
    const std::uint64_t fault_ns = thread.pending.add(record, time_ns, parts);
    if (record.kind != KernelRecordKind::fault && fault_ns == 0) continue;
    thread.process_id = record.process_id;
    Refaults* faults = faults_of(record.process_id);
    if (faults == nullptr) continue;
    if (record.kind == KernelRecordKind::fault) {
      faults->begin(thread.faults, record.address, time_ns);
    } else {
      faults->end(thread.faults, fault_ns);
    }
  }
  if (is_incomplete) {
    gap_from_ns_ = last.ns;
    gap_to_ns_ = now_.ns;
    for (auto& [_, thread] : threads_) thread.pending.add_gap(last.ns, now_.ns);
  }
  if (now_.ns >= next_forget_ns_) forget_idle();
}

// Threads that have ended, make no heap calls, or belong to an unrecorded process.
void KernelEvents::forget_idle() {
  next_forget_ns_ = now_.ns + forget_interval_ns;
  for (auto at = threads_.begin(); at != threads_.end();) {
    ThreadWork& thread = at->second;
    const bool is_idle = !thread.makes_calls && thread.pending.last_ns() + forget_interval_ns < now_.ns;
    if (is_idle) close(thread);
    at = is_idle ? threads_.erase(at) : std::next(at);
  }
}

}  // namespace heapwright::collect
