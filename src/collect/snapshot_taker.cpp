// SPDX-License-Identifier: MIT
#include "collect/snapshot_taker.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "collect/heap_snapshot.hpp"
#include "collect/session_text.hpp"
#include "collect/signals.hpp"
#include "platform/futex.hpp"
#include "trace/reader.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::collect {
namespace {

constexpr std::chrono::seconds patience{5};
// A block may be younger than the pointer to it: that is still in a register, or about to be copied.
constexpr std::uint64_t young_ns = 10'000'000;

template <typename Result>
bool is_there(const std::future<Result>& future) {
  return future.valid() && future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

bool is_glibc(const std::string& allocator) {
  return allocator.starts_with("glibc") || allocator.find("/libc.so") != std::string::npos;
}

}  // namespace

SnapshotTaker::SnapshotTaker(const SnapshotWishes& wishes, session::ProcessBlock& block,
                             const TickClock& clock, TraceFile& file, SnapshotSource source)
    : block_(block),
      clock_(clock),
      file_(file),
      source_(std::move(source)),
      process_(static_cast<pid_t>(source_.process_id)),
      times_(wishes, clock.now_ns()) {}

bool SnapshotTaker::is_requested() const noexcept {
  return block_.snapshot_requests.load(std::memory_order_acquire) !=
         block_.snapshots_answered.load(std::memory_order_relaxed);
}

bool SnapshotTaker::has_work() const {
  if (prepared_.valid() || scanned_.valid()) return is_there(prepared_) || is_there(scanned_);
  return is_requested();
}

void SnapshotTaker::step(std::uint64_t resident_bytes) {
  resident_bytes_ = resident_bytes;
  process_.release_late();
  if (is_there(scanned_)) put_scanned(true);
  if (scanned_.valid()) return;
  if (is_there(prepared_)) take(false);
  if (prepared_.valid() || scanned_.valid()) return;
  const bool is_due = times_.is_due(clock_.now_ns(), resident_bytes);
  if (is_due || is_requested()) begin(source_.keeps_running, !source_.keeps_running);
}

// Runs beside the thread that empties the rings, as memory for a large copy takes a while.
template <typename Work>
void SnapshotTaker::prepare_beside(Work work) {
  const SignalsBlocked blocked;
  prepared_ = std::async(std::launch::async, [work = std::move(work)]() mutable {
    Prepared prepared;
    try {
      work(prepared);
    } catch (const std::exception& error) {
      prepared.failure = error.what();
    }
    return prepared;
  });
}

void SnapshotTaker::begin(bool keeps_running, bool copies_ahead) {
  request_ = block_.snapshot_requests.load(std::memory_order_acquire);
  stopped_ns_ = 0;
  keeps_running_ = keeps_running;
  begun_ns_ = 0;
  lost_ = {};
  prepare(copies_ahead);
}

void SnapshotTaker::prepare(bool copies_ahead) {
  const ImageWish wish{copies_ahead, source_.has_unaligned_pointers};
  prepare_beside([wish, process = source_.process_id, modules = modules_](Prepared& prepared) {
    prepared.image = prepare_image(process, modules, wish);
  });
}

// It waits until its memory has been read: it can stand still as well.
void SnapshotTaker::take_last() {
  if (std::exchange(has_taken_last_, true)) return;
  if (scanned_.valid()) put_scanned(false);
  if (prepared_.valid() && keeps_running_) prepared_.get();
  if (!prepared_.valid()) begin(false, false);
  take(true);
}

void SnapshotTaker::take(bool is_last) {
  Prepared prepared = prepared_.get();
  std::string failure = std::move(prepared.failure);
  try {
    if (failure.empty() && keeps_running_) {
      failure = go_on(std::move(prepared));
      if (failure.empty()) return;
    } else if (failure.empty()) {
      failure = try_to_take(std::move(prepared.image), is_last);
    }
  } catch (const std::exception& error) {
    failure = error.what();
  }
  process_.resume();
  end(failure);
}

// Of what needs the process.
void SnapshotTaker::end(const std::string& failure) {
  times_.note(clock_.now_ns(), resident_bytes_, stopped_ns_);
  release_waiting();
  if (failure.empty()) return;
  // What could not be looked at any longer is no failure of a recording.
  const bool is_over = failure == tracee::it_has_ended || tracee::has_no_memory(process_.id());
  if (!is_over) note_failure(failure);
  answer(is_over ? tracee::it_has_ended : failure, {});
}

// Each reason once: it may last for days.
void SnapshotTaker::note_failure(const std::string& reason) {
  if (std::find(failures_.begin(), failures_.end(), reason) == failures_.end()) failures_.push_back(reason);
}

// Returns why there is none. A call that the snapshot counts on may still be in a ring when the program
// stops.
std::string SnapshotTaker::try_to_take(ProcessImage image, bool is_last) {
  std::string reason = process_.stop(patience);
  if (!reason.empty()) return reason;
  reason = source_.write_calls();
  if (!reason.empty()) return reason;
  const std::uint64_t now_ns = clock_.now_ns();
  const Calls calls = calls_until(now_ns, is_last ? UINT64_MAX : now_ns);
  const SignalsBlocked blocked;
  read_image(process_, image);
  modules_ = image.modules;
  process_.resume();
  stopped_ns_ = process_.stopped_ns();
  scan_beside(calls, std::move(image));
  return {};
}

// The next step of a snapshot for which the process stands still only shortly: the copy, or the scan. Returns
// why there is none.
std::string SnapshotTaker::go_on(Prepared prepared) {
  if (prepared.is_copied) {
    std::string reason = source_.write_calls();
    if (!reason.empty()) return reason;
    Calls calls = calls_until(clock_.now_ns(), begun_ns_);
    calls.blocks.ended_since_ns = calls.blocks.young_since_ns;
    scan_beside(calls, std::move(prepared.image));
    return {};
  }
  std::string reason = process_.stop(patience);
  if (!reason.empty()) return reason;
  if (begun_ns_ == 0) begun_ns_ = clock_.now_ns();
  read_threads(process_, prepared.image);
  process_.resume();
  modules_ = prepared.image.modules;
  stopped_ns_ += process_.stopped_ns();
  prepare_beside([begun = std::move(prepared.image), process = source_.process_id](Prepared& next) mutable {
    read_running(process, begun);
    next.image = std::move(begun);
    next.is_copied = true;
  });
  return {};
}

// `old_ns`: blocks from just before and later are young; UINT64_MAX: none is.
SnapshotTaker::Calls SnapshotTaker::calls_until(std::uint64_t now_ns, std::uint64_t old_ns) const {
  const bool has_young = old_ns != UINT64_MAX;
  return {file_.path(),
          file_.bytes(),
          now_ns,
          {.young_since_ns = has_young ? old_ns - std::min(old_ns, young_ns) : UINT64_MAX},
          is_glibc(text_of(block_.allocator)),
          source_.has_every_block(),
          {block_.sampled_set_begin.load(std::memory_order_relaxed),
           block_.sampled_set_end.load(std::memory_order_relaxed)}};
}

void SnapshotTaker::scan_beside(const Calls& calls, ProcessImage image) {
  const SignalsBlocked blocked;
  LostInCopies* const lost = keeps_running_ ? &lost_ : nullptr;  // nobody else uses it meanwhile
  scanned_ = std::async(std::launch::async, [calls, lost, image = std::move(image)]() mutable {
    return scan(calls, std::move(image), lost);
  });
}

// What only the scan needs is released before copies are compared.
SnapshotTaker::Scanned SnapshotTaker::scan(const Calls& calls, ProcessImage image, LostInCopies* lost) {
  Scanned scanned;
  try {
    LiveHeap heap = live_heap_of(trace::Reader::open(calls.path, calls.bytes), calls.blocks);
    heap.has_every_block = calls.has_every_block;
    heap.sampled_set = calls.sampled_set;
    scanned.graph = snapshot_of({image, heap, calls.is_glibc});
    scanned.graph.time_ns = calls.time_ns;
    image.words.reset();
    heap = {};
    if (lost != nullptr) lost->add(scanned.graph);
  } catch (const std::exception& error) {
    scanned.failure = error.what();
  }
  return scanned;
}

void SnapshotTaker::put_scanned(bool may_go_on) {
  Scanned scanned = scanned_.get();
  if (keeps_running_ && scanned.failure.empty() && lost_.needs_another()) {
    if (may_go_on) return prepare(false);
    if (scanned.graph.copies < 2) scanned.failure = "the program ended before its memory was copied twice";
  }
  if (keeps_running_) end({});
  scanned.graph.stopped_ns = stopped_ns_;
  if (!scanned.failure.empty()) note_failure(scanned.failure);
  if (scanned.failure.empty()) file_.write(scanned.graph);
  answer(scanned.failure, scanned.graph);
}

void SnapshotTaker::finish() {
  if (prepared_.valid()) prepared_.get();
  if (scanned_.valid()) put_scanned(false);
  if (is_requested()) answer("the recording has ended", {});
  release_waiting();
}

// The program itself goes on once its memory has been read.
void SnapshotTaker::release_waiting() noexcept {
  block_.snapshots_read.store(request_, std::memory_order_release);
  platform::futex_wake(block_.snapshots_read);
}

void SnapshotTaker::answer(const std::string& failure, const trace::HeapGraph& graph) {
  std::uint64_t bytes = 0;
  for (const trace::GraphNode& node : graph.nodes) bytes += node.size;
  block_.snapshot_blocks = graph.nodes.size();
  block_.snapshot_bytes = bytes;
  block_.snapshot_stopped_ns = graph.stopped_ns;
  std::memset(block_.snapshot_failure, 0, sizeof block_.snapshot_failure);
  failure.copy(block_.snapshot_failure, sizeof block_.snapshot_failure - 1);
  block_.snapshots_answered.store(request_, std::memory_order_release);
}

}  // namespace heapwright::collect
