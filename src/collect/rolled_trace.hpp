// SPDX-License-Identifier: MIT
// A rewritten copy of a trace that is still being written. It omits what ended before a cut-off time: it has
// every block that was live then, with the event that allocated it, and all later events.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/input_file.hpp"
#include "trace/reader.hpp"
#include "trace/writer.hpp"

namespace heapwright::collect {

struct RollLimits {
  std::uint64_t most_bytes = 0;
  // The old trace has every event before this time.
  std::uint64_t latest_ns = UINT64_MAX;
};

class RolledTrace {
 public:
  // Drops enough to meet most_bytes. nullopt: the live blocks alone take more, the file cannot be written, or
  // `is_given_up`. Throws TraceError when the old trace is damaged.
  static std::optional<RolledTrace> make(const trace::Reader& old, const std::string& path,
                                         const RollLimits& limits, const std::atomic<bool>& is_given_up);

  // Appends what was written to the old trace from this byte on. False if that fails.
  bool catch_up(const trace::InputFile& old, std::uint64_t from_byte);

  // Frames and stacks keep their ids. Threads without events are omitted, so the others get new numbers; a
  // thread that was not in the old trace gets the next number.
  std::uint32_t number_of(std::uint32_t old_thread);
  // Number of events of each thread, numbered from 0.
  const std::vector<std::uint64_t>& thread_events() const noexcept { return thread_events_; }
  std::uint64_t events() const noexcept;
  std::uint64_t forgotten_before_ns() const noexcept { return forgotten_before_ns_; }
  std::uint64_t forgotten_events() const noexcept { return forgotten_events_; }
  std::unique_ptr<trace::Writer> take_writer() noexcept { return std::move(writer_); }

 private:
  class Making;
  static constexpr std::uint32_t no_thread = UINT32_MAX;

  RolledTrace() = default;
  std::uint32_t add_thread();
  // False if the old file does not have it.
  bool read_chunk(const trace::InputFile& old, std::uint64_t offset, trace::ChunkHeader& header);
  // Both use the chunk that was read.
  bool copy_events(trace::ChunkHeader header, std::uint32_t number);
  bool copy_threads(const trace::ChunkHeader& header);

  std::unique_ptr<trace::Writer> writer_;
  std::vector<std::uint32_t> numbers_;        // by thread of the old trace
  std::vector<std::uint64_t> thread_events_;  // by number
  std::uint64_t forgotten_before_ns_ = 0;
  std::uint64_t forgotten_events_ = 0;
  std::vector<std::uint8_t> chunk_;  // header and payload
};

}  // namespace heapwright::collect
