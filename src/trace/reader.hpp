// SPDX-License-Identifier: MIT
// Reads a trace file by chunks; never holds the whole file in memory.
//
// open() checks header and index (or rebuilds the index by scanning if the file was cut off), and reads every
// small table: metadata, modules, frames, stacks, threads, memory samples, end. Events and scans of resident
// pages stay on disk until decode() is called for a chunk.
//
// Errors: TraceError with one line that says what to do. A table chunk with a wrong checksum is listed in
// `damage` and left out; the rest is read. The content of event chunks is not checked before decode(), which
// throws for a damaged one: a caller continues with the next chunk and reports it.
//
// Guaranteed for every trace, even a malicious one: threads()[i].index == i and every chunk's thread has an
// entry; a frame's module is an index into modules() or no_module; a stack's frame is an index into frames()
// or a mark; a stack's parent is smaller than itself; names have locations for exactly the existing frames,
// with existing strings.
// Threads: a Reader is immutable after open(); many threads may call decode() at once, each with its own
// batch and scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/damage.hpp"
#include "trace/event.hpp"
#include "trace/names.hpp"
#include "trace/records.hpp"
#include "trace/residency.hpp"

namespace heapwright::trace {

// The position of a chunk of events, and its ranges. Chunks of one thread are in order of first_sequence.
// Times are exactly those of the decoded events, which are rounded down to the format's steps (16 ns, 4 ns).
struct EventChunk {
  std::uint64_t file_offset = 0;
  std::uint32_t bytes = 0;   // on disk, header included
  std::uint32_t thread = 0;  // Thread::index
  std::uint32_t count = 0;
  std::uint64_t first_sequence = 0;  // number of the first event within its thread
  std::uint64_t first_begin_ns = 0;
  std::uint64_t last_end_ns = 0;  // largest begin + duration
};

// The position of a scan of the resident pages (residency.hpp).
struct ScanChunk {
  std::uint64_t file_offset = 0;
  std::uint32_t bytes = 0;
  std::uint32_t count = 0;           // records
  std::uint32_t mappings = 0;        // number of the list of mappings valid at its begin
  std::uint64_t resident_bytes = 0;  // on the pages that it found
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

// Reusable memory for decode(); one per decoding thread.
class DecodeScratch {
 public:
  DecodeScratch();
  ~DecodeScratch();
  DecodeScratch(const DecodeScratch&) = delete;
  DecodeScratch& operator=(const DecodeScratch&) = delete;
  struct State;
  State& state() noexcept { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

class InputFile;

class Reader {
 public:
  // most_bytes: for a file that is still being written, the size known to be whole chunks.
  static Reader open(const std::string& path, std::uint64_t most_bytes = UINT64_MAX);
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  const Metadata& metadata() const noexcept;
  const std::vector<Module>& modules() const noexcept;
  const std::vector<Frame>& frames() const noexcept;
  const std::vector<StackNode>& stacks() const noexcept;  // [0] is the empty stack
  const std::vector<Thread>& threads() const noexcept;
  const std::vector<MemorySample>& memory_samples() const noexcept;
  const std::vector<Switch>& switches() const noexcept;  // as written; not checked for order
  const std::vector<ProcessorSample>& processor_samples() const noexcept;
  const std::vector<RefaultRun>& refaults() const noexcept;
  const std::vector<PythonFrame>& python_frames() const noexcept;  // frames not checked
  const std::vector<CodeName>& code_names() const noexcept;        // frames not checked
  const EmbeddedNames* names() const noexcept;                     // nullptr: the trace holds none
  const End& end() const noexcept;
  const std::vector<EventChunk>& event_chunks() const noexcept;  // by thread, then sequence
  const std::vector<ScanChunk>& scans() const noexcept;          // by begin
  const std::vector<Damage>& damage() const noexcept;
  std::uint64_t file_bytes() const noexcept;
  std::uint64_t event_count() const noexcept;

  // How many chunks of events have a wrong checksum. Reads the file once, without decoding.
  std::uint64_t damaged_event_chunks() const;
  // Decodes one chunk into `batch` (replaced). Throws TraceError if the chunk is damaged. Every stack id in
  // the batch is < stacks().size().
  void decode(const EventChunk& chunk, DecodeScratch& scratch, EventBatch& batch) const;
  // One scan, and the mappings at its begin (empty if their chunk is lost). Throw TraceError if the chunk is
  // damaged.
  ResidencyScan decode(const ScanChunk& chunk) const;
  std::vector<Mapping> mappings_of(const ScanChunk& chunk) const;
  const InputFile& file() const noexcept;

 private:
  struct State;
  explicit Reader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace heapwright::trace
