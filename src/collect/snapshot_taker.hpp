// SPDX-License-Identifier: MIT
// Takes snapshots of a process that is being recorded: in its thread what needs the process to stand still,
// and beside it the rest, so that rings are emptied meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "collect/live_heap.hpp"
#include "collect/lost_in_copies.hpp"
#include "collect/process_image.hpp"
#include "collect/snapshot_times.hpp"
#include "collect/tick_clock.hpp"
#include "collect/trace_file.hpp"
#include "session/layout.hpp"
#include "trace/heap_graph.hpp"

namespace heapwright::collect {

// The recording that the snapshots become part of.
struct SnapshotSource {
  std::uint32_t process_id = 0;
  // Writes every call that has ended into the trace; returns why it could not.
  std::function<std::string()> write_calls;
  std::function<bool()> has_every_block;
  bool has_unaligned_pointers = false;
  bool keeps_running = false;  // except for the last one, and a moment
};

class SnapshotTaker {
 public:
  // Arguments outlive this.
  SnapshotTaker(const SnapshotWishes& wishes, session::ProcessBlock& block, const TickClock& clock,
                TraceFile& file, SnapshotSource source);

  // Begins what is due or requested, and goes on with what has begun; every few milliseconds.
  void step(std::uint64_t resident_bytes);
  // Returns when the process may end.
  void take_last();
  bool has_taken_last() const noexcept { return has_taken_last_; }
  // The recording's file is being read.
  bool is_scanning() const noexcept { return scanned_.valid(); }
  // A snapshot is requested, or can go on.
  bool has_work() const;
  // Writes the last one.
  void finish();
  // Why some were not taken.
  const std::vector<std::string>& failures() const noexcept { return failures_; }

 private:
  struct Scanned {
    trace::HeapGraph graph;
    std::string failure;
  };
  struct Prepared {
    ProcessImage image;
    bool is_copied = false;  // of a process that runs on
    std::string failure;
  };
  // What the scan needs besides the image.
  struct Calls {
    std::string path;
    std::uint64_t bytes = 0;
    std::uint64_t time_ns = 0;
    LiveHeapWish blocks;
    bool is_glibc = false;
    bool has_every_block = true;
    AddressRange sampled_set;
  };

  bool is_requested() const noexcept;
  void begin(bool keeps_running, bool copies_ahead);
  void prepare(bool copies_ahead);
  void take(bool is_last);
  void end(const std::string& failure);
  std::string try_to_take(ProcessImage image, bool is_last);
  std::string go_on(Prepared prepared);
  template <typename Work>
  void prepare_beside(Work work);
  Calls calls_until(std::uint64_t now_ns, std::uint64_t old_ns) const;
  void scan_beside(const Calls& calls, ProcessImage image);
  void put_scanned(bool may_go_on);
  void note_failure(const std::string& reason);
  void answer(const std::string& failure, const trace::HeapGraph& graph);
  void release_waiting() noexcept;
  static Scanned scan(const Calls& calls, ProcessImage image, LostInCopies* lost);

  session::ProcessBlock& block_;
  const TickClock& clock_;
  TraceFile& file_;
  SnapshotSource source_;
  tracee::StoppedProcess process_;
  SnapshotTimes times_;
  KnownModules modules_;
  std::future<Prepared> prepared_;
  std::future<Scanned> scanned_;
  std::uint32_t request_ = 0;  // that the current one answers
  std::uint64_t resident_bytes_ = 0;
  std::uint64_t stopped_ns_ = 0;  // for the current one
  bool keeps_running_ = false;    // during the current one
  LostInCopies lost_;
  std::uint64_t begun_ns_ = 0;  // with the first copy; 0: not yet
  bool has_taken_last_ = false;
  std::vector<std::string> failures_;
};

}  // namespace heapwright::collect
