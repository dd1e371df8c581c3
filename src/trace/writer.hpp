// SPDX-License-Identifier: MIT
// Writes a trace file, chunk by chunk, append only. Whatever has been
// written opens: each chunk carries its own length and checksum, and the
// index at the end is a convenience the reader can do without.
//
// Errors: every call returns false once a write has failed (disk full);
// error_number() then holds errno, the file is cut back to the last whole
// chunk, and later calls do nothing.
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
  // Creates `path` with mode 0600. An existing file is an error (EEXIST)
  // unless `replace`. With a descriptor >= 0 a copy of that is written to,
  // and the path is a name only. Returns nullptr and sets error_number on failure.
  static std::unique_ptr<Writer> create(const std::string& path, bool replace, int& error_number,
                                        int descriptor = -1);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  bool write(const Metadata& metadata);
  // Ids follow from the order of writing: frames from 0, stacks from 1.
  bool write(std::span<const Frame> frames);
  bool write(std::span<const StackNode> stacks);
  bool write(std::span<const Module> modules);  // appended; a module may be written
                                                // again (same start, loaded_ns) to close it
  bool write(std::span<const Thread> threads);  // the last record of an index wins
  bool write(std::span<const MemorySample> samples);
  bool write(std::span<const Switch> switches);
  bool write(const EmbeddedNames& names);
  // A list of mappings, by its number, and a scan that refers to one.
  bool write_mappings(std::uint32_t number, std::span<const Mapping> mappings);
  bool write_scan(std::uint32_t mappings, std::uint64_t begin_ns, std::uint64_t end_ns,
                  const ResidencyScan& scan);
  // At most max_events_per_chunk events of one thread, in sequence. Stacks
  // and frames the batch refers to must have been written before.
  // Begin times below those that were written in batches before are raised.
  bool write_events(std::uint32_t thread, std::uint64_t first_sequence, const EventBatch& batch);
  // The same for events that are encoded already; whoever started the encoder
  // knows where the thread's last begin time was.
  bool write_events(std::uint32_t thread, std::uint64_t first_sequence, const EventEncoder& events);
  // Writes the end mark and the index and closes the file.
  bool finish(const End& end);

  // For a copy of another trace: a chunk of it as it stands there, header included, behind
  // whose frames and stacks those written next are numbered; bytes of it that are in no index;
  // the end without an end mark of its own.
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
