// SPDX-License-Identifier: MIT
// Writes a trace file, chunk by chunk, append only. A partially written file can be opened: each chunk has
// its own length and checksum, and the index at the end is optional for the reader.
//
// Errors: every call returns false once a write has failed (disk full); error_number() then holds errno, the
// file is truncated to the last whole chunk, and later calls do nothing.
// Threads: one writer belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trace/event.hpp"
#include "trace/format.hpp"
#include "trace/names.hpp"
#include "trace/records.hpp"
#include "trace/residency.hpp"

namespace heapwright::trace {

class EventEncoder;

class Writer {
 public:
  // Creates `path` with mode 0600. An existing file is an error (EEXIST) unless `replace`. With a descriptor
  // >= 0, writes to a copy of it, and the path is only a name. Returns nullptr and sets error_number on
  // failure.
  static std::unique_ptr<Writer> create(const std::string& path, bool replace, int& error_number,
                                        int descriptor = -1);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  bool write(const Metadata& metadata);
  // Ids follow the order of writing: frames from 0, stacks from 1.
  bool write(std::span<const Frame> frames);
  bool write(std::span<const StackNode> stacks);
  bool write(std::span<const Module> modules);  // appended; a module may be written
                                                // again (same start, loaded_ns) to close it
  bool write(std::span<const Thread> threads);  // the last record of an index wins
  bool write(std::span<const MemorySample> samples);
  bool write(std::span<const Switch> switches);
  bool write(std::span<const ProcessorSample> samples);
  bool write(std::span<const RefaultRun> runs);
  bool write(std::span<const PythonFrame> frames);
  bool write(std::span<const CodeName> names);
  bool write(const EmbeddedNames& names);
  // A list of mappings, by its number, and a scan that refers to one.
  bool write_mappings(std::uint32_t number, std::span<const Mapping> mappings);
  bool write_scan(std::uint32_t mappings, std::uint64_t begin_ns, std::uint64_t end_ns,
                  const ResidencyScan& scan);
  // At most max_events_per_chunk events of one thread, in sequence. The batch's stacks and frames must have
  // been written before. Begin times below those of earlier batches are raised.
  bool write_events(std::uint32_t thread, std::uint64_t first_sequence, const EventBatch& batch);
  // The same for already encoded events; the caller that started the encoder knows the thread's last begin
  // time.
  bool write_events(std::uint32_t thread, std::uint64_t first_sequence, const EventEncoder& events);
  // Writes the end mark and the index and closes the file.
  bool finish(const End& end);

  // For copying another trace: a chunk copied unchanged, including its header, which advances the numbers of
  // frames and stacks written next; its bytes that are in no index; the end without a new end mark.
  bool write_copied(const ChunkHeader& header, std::span<const std::uint8_t> chunk);
  bool write_copied(std::span<const std::uint8_t> bytes);
  bool finish_copy(bool has_index);

  std::uint64_t bytes_written() const noexcept;
  int error_number() const noexcept;

 private:
  struct State;
  explicit Writer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The whole chunk of an end mark.
std::vector<std::uint8_t> end_chunk_of(const End& end);

}  // namespace heapwright::trace
