// SPDX-License-Identifier: MIT
#include "collect/trace_file.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace heapwright::collect {
namespace {

constexpr std::size_t records_per_chunk = 8192;

}  // namespace

TraceFile::TraceFile(std::string path, bool replaces_existing, int descriptor) : path_(std::move(path)) {
  writer_ = trace::Writer::create(path_, replaces_existing, error_number_, descriptor);
  if (writer_ == nullptr && error_number_ == 0) error_number_ = EIO;
  if (writer_ != nullptr) error_number_ = 0;
}

void TraceFile::note(bool is_written) {
  if (is_written || error_number_ != 0) return;
  error_number_ = writer_->error_number() != 0 ? writer_->error_number() : EIO;
}

template <typename Record>
void TraceFile::write_in_parts(std::span<const Record> records) {
  while (!records.empty() && !is_failed()) {
    const std::size_t count = std::min(records.size(), records_per_chunk);
    note(writer_->write(records.first(count)));
    records = records.subspan(count);
  }
}

void TraceFile::write(const trace::Metadata& metadata) {
  if (!is_failed()) note(writer_->write(metadata));
}

void TraceFile::write(std::span<const trace::Thread> threads) { write_in_parts(threads); }
void TraceFile::write(std::span<const trace::MemorySample> samples) { write_in_parts(samples); }
void TraceFile::write(std::span<const trace::Switch> switches) { write_in_parts(switches); }

void TraceFile::write(std::span<const trace::ProcessorSample> samples) { write_in_parts(samples); }
void TraceFile::write(std::span<const trace::RefaultRun> runs) { write_in_parts(runs); }

void TraceFile::write(std::span<const trace::CodeName> names) { write_in_parts(names); }

void TraceFile::write_mappings(std::uint32_t number, std::span<const trace::Mapping> mappings) {
  if (!is_failed()) note(writer_->write_mappings(number, mappings));
}

void TraceFile::write_scan(std::uint32_t mappings, std::uint64_t begin_ns, std::uint64_t end_ns,
                           const trace::ResidencyScan& scan) {
  if (!is_failed()) note(writer_->write_scan(mappings, begin_ns, end_ns, scan));
}

void TraceFile::write(const trace::HeapGraph& graph) {
  if (!is_failed()) note(trace::write_heap_graph(graph, *writer_));
}

void TraceFile::write_definitions(StackDefinitions& definitions) {
  write_in_parts<trace::Module>(definitions.pending_modules);
  write_in_parts<trace::Frame>(definitions.pending_frames);
  write_in_parts<trace::PythonFrame>(definitions.pending_python_frames);
  write_in_parts<trace::StackNode>(definitions.pending_stacks);
  definitions.pending_modules.clear();
  definitions.pending_frames.clear();
  definitions.pending_python_frames.clear();
  definitions.pending_stacks.clear();
}

void TraceFile::write_events(std::uint32_t thread, LaneDrain& drain, StackDefinitions& definitions) {
  write_definitions(definitions);
  if (is_failed() || drain.chunk() == nullptr) return;
  note(writer_->write_events(thread, drain.first_sequence(), *drain.chunk()));
  if (!is_failed()) events_ += drain.count();
}

void TraceFile::switch_to(std::unique_ptr<trace::Writer> writer, std::uint64_t events) noexcept {
  writer_ = std::move(writer);
  events_ = events;
}

void TraceFile::finish(const trace::End& end) {
  // Even after a failure: the writer leaves the file as readable as it can.
  if (writer_ != nullptr) note(writer_->finish(end));
}

}  // namespace heapwright::collect
