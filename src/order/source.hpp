// SPDX-License-Identifier: MIT
// The part of a trace that the analysis needs: the small tables, the list of chunks and a way to decode one.
// A trace file is one source; tests provide batches from memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trace/event.hpp"
#include "trace/reader.hpp"
#include "trace/records.hpp"

namespace heapwright::order {

// Decodes chunks for one thread of the analysis.
class ChunkDecoder {
 public:
  virtual ~ChunkDecoder() = default;
  // Replaces `batch`; its stacks are below the source's stack_count(), or 0. Throws trace::TraceError if the
  // chunk is damaged.
  virtual void decode(const trace::EventChunk& chunk, trace::EventBatch& batch) = 0;
};

class Source {
 public:
  virtual ~Source() = default;
  virtual const trace::Metadata& metadata() const = 0;
  virtual const std::vector<trace::Thread>& threads() const = 0;
  virtual const std::vector<trace::MemorySample>& memory_samples() const = 0;
  virtual const std::vector<trace::Switch>& switches() const = 0;
  virtual const std::vector<trace::ProcessorSample>& processor_samples() const = 0;
  virtual const std::vector<trace::RefaultRun>& refaults() const = 0;
  virtual const trace::End& end() const = 0;
  virtual const std::vector<trace::EventChunk>& event_chunks() const = 0;
  virtual const std::vector<trace::Damage>& damage() const = 0;
  virtual const std::vector<trace::Module>& modules() const = 0;
  virtual const std::vector<trace::ScanChunk>& scans() const = 0;
  // As in Reader.
  virtual trace::ResidencyScan decode(const trace::ScanChunk& scan) const = 0;
  virtual std::vector<trace::Mapping> mappings_of(const trace::ScanChunk& scan) const = 0;
  virtual std::size_t stack_count() const = 0;
  virtual std::uint64_t file_bytes() const = 0;
  virtual std::uint64_t event_count() const = 0;
  virtual std::unique_ptr<ChunkDecoder> make_decoder() const = 0;
};

// The reader must outlive the source.
std::unique_ptr<Source> make_source(const trace::Reader& reader);

}  // namespace heapwright::order
