// SPDX-License-Identifier: MIT
// A trace::Writer that writes definitions before their use and remembers its first failure; after that every
// call does nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "collect/lane_drain.hpp"
#include "collect/stack_definitions.hpp"
#include "trace/heap_graph.hpp"
#include "trace/writer.hpp"

namespace heapwright::collect {

class TraceFile {
 public:
  // Never throws; is_failed() is set if the file cannot be created. A descriptor >= 0 is written to, and the
  // path is only its name.
  TraceFile(std::string path, bool replaces_existing, int descriptor = -1);

  void write(const trace::Metadata& metadata);
  void write(std::span<const trace::Thread> threads);
  void write(std::span<const trace::MemorySample> samples);
  void write(std::span<const trace::Switch> switches);
  void write(std::span<const trace::ProcessorSample> samples);
  void write(std::span<const trace::RefaultRun> runs);
  void write(std::span<const trace::CodeName> names);
  void write_mappings(std::uint32_t number, std::span<const trace::Mapping> mappings);
  void write_scan(std::uint32_t mappings, std::uint64_t begin_ns, std::uint64_t end_ns,
                  const trace::ResidencyScan& scan);
  void write(const trace::HeapGraph& graph);
  // Writes and clears the pending definitions.
  void write_definitions(StackDefinitions& definitions);
  // Writes the chunk that `drain` has begun; the caller ends it.
  void write_events(std::uint32_t thread, LaneDrain& drain, StackDefinitions& definitions);
  // Switches to this writer, whose file has this many events and replaces the old file.
  void switch_to(std::unique_ptr<trace::Writer> writer, std::uint64_t events) noexcept;
  void finish(const trace::End& end);

  const std::string& path() const noexcept { return path_; }
  std::uint64_t bytes() const noexcept { return writer_ == nullptr ? 0 : writer_->bytes_written(); }
  std::uint64_t events() const noexcept { return events_; }
  bool is_failed() const noexcept { return error_number_ != 0; }
  int error_number() const noexcept { return error_number_; }

 private:
  template <typename Record>
  void write_in_parts(std::span<const Record> records);
  void note(bool is_written);

  std::string path_;
  std::unique_ptr<trace::Writer> writer_;
  std::uint64_t events_ = 0;
  int error_number_ = 0;
};

}  // namespace heapwright::collect
