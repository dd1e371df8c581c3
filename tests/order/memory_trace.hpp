// SPDX-License-Identifier: MIT
// A trace held in memory, written call by call, for tests that need no file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "order/source.hpp"

namespace heapwright::order {

struct Call {
  trace::EventKind kind = trace::EventKind::none;
  std::uint64_t begin_ns = 0;
  std::uint32_t duration_ns = 0;
  std::uint64_t size = 0;
  std::uint64_t usable = 0;
  std::uint64_t address = 0;
  std::uint64_t old_address = 0;
  std::uint32_t stack = 0;
  std::uint8_t alignment_log2 = 0;
  trace::KernelWork kernel = {};
};

class MemoryTrace final : public Source {
 public:
  trace::Metadata metadata_record;
  std::vector<trace::Thread> thread_records;
  std::vector<trace::MemorySample> samples;
  std::vector<trace::Switch> switch_records;
  std::vector<trace::ProcessorSample> processor_records;
  std::vector<trace::RefaultRun> refault_records;
  trace::End end_record{trace::EndReason::exited, 0, 0, 0, 0, 0};
  std::vector<trace::Damage> damage_records;
  std::vector<trace::Module> module_records;
  struct Scan {
    trace::ScanChunk chunk;
    trace::ResidencyScan scan;
    std::vector<trace::Mapping> mappings;
  };
  std::vector<Scan> scan_records;  // by begin
  std::size_t stacks = 16;
  std::size_t chunk_events = 1000;
  std::set<std::size_t> damaged_chunks;  // decode() throws for these

  void add(std::uint32_t thread, const Call& call) { calls_[thread].push_back(call); }
  void malloc(std::uint32_t thread, std::uint64_t begin_ns, std::uint64_t address, std::uint64_t size,
              std::uint32_t stack = 1, std::uint32_t duration_ns = 16) {
    add(thread, {trace::EventKind::malloc_, begin_ns, duration_ns, size, size + 8, address, 0, stack, 0, {}});
  }
  void free(std::uint32_t thread, std::uint64_t begin_ns, std::uint64_t address,
            std::uint32_t duration_ns = 16) {
    add(thread, {trace::EventKind::free_, begin_ns, duration_ns, 0, 0, address, 0, 0, 0, {}});
  }
  void realloc(std::uint32_t thread, std::uint64_t begin_ns, std::uint64_t old_address, std::uint64_t address,
               std::uint64_t size, std::uint32_t stack = 1, std::uint32_t duration_ns = 16) {
    add(thread, {trace::EventKind::realloc_,
                 begin_ns,
                 duration_ns,
                 size,
                 address != 0 ? size + 8 : 0,
                 address,
                 old_address,
                 stack,
                 0,
                 {}});
  }

  // Cuts the calls into chunks; call it after the last add.
  void seal() {
    scans_.clear();
    for (auto& record : scan_records) {
      record.chunk.file_offset = scans_.size();  // stands for the scan
      scans_.push_back(record.chunk);
    }
    chunks_.clear();
    starts_.clear();
    std::uint64_t offset = 64;
    for (const auto& [thread, calls] : calls_) {
      for (std::size_t from = 0; from < calls.size(); from += chunk_events) {
        const auto to = std::min(calls.size(), from + chunk_events);
        trace::EventChunk chunk{
            offset, 100, thread, static_cast<std::uint32_t>(to - from), from, calls[from].begin_ns, 0};
        for (auto index = from; index < to; ++index) {
          chunk.last_end_ns = std::max(chunk.last_end_ns, calls[index].begin_ns + calls[index].duration_ns);
        }
        chunks_.push_back(chunk);
        starts_.push_back(from);
        offset += 100;
      }
    }
  }

  const trace::Metadata& metadata() const override { return metadata_record; }
  const std::vector<trace::Thread>& threads() const override { return thread_records; }
  const std::vector<trace::MemorySample>& memory_samples() const override { return samples; }
  const std::vector<trace::Switch>& switches() const override { return switch_records; }
  const std::vector<trace::ProcessorSample>& processor_samples() const override { return processor_records; }
  const std::vector<trace::RefaultRun>& refaults() const override { return refault_records; }
  const trace::End& end() const override { return end_record; }
  const std::vector<trace::EventChunk>& event_chunks() const override { return chunks_; }
  const std::vector<trace::Damage>& damage() const override { return damage_records; }
  const std::vector<trace::Module>& modules() const override { return module_records; }
  const std::vector<trace::ScanChunk>& scans() const override { return scans_; }
  trace::ResidencyScan decode(const trace::ScanChunk& scan) const override {
    return scan_records.at(scan.file_offset).scan;
  }
  std::vector<trace::Mapping> mappings_of(const trace::ScanChunk& scan) const override {
    return scan_records.at(scan.file_offset).mappings;
  }
  std::size_t stack_count() const override { return stacks; }
  std::uint64_t file_bytes() const override { return 64 + chunks_.size() * 100; }
  std::uint64_t event_count() const override {
    std::uint64_t count = 0;
    for (const auto& chunk : chunks_) {
      count += chunk.count;
    }
    return count;
  }
  std::unique_ptr<ChunkDecoder> make_decoder() const override { return std::make_unique<Decoder>(*this); }

  std::vector<trace::EventChunk>& chunks() { return chunks_; }
  const std::map<std::uint32_t, std::vector<Call>>& calls() const { return calls_; }

 private:
  class Decoder final : public ChunkDecoder {
   public:
    explicit Decoder(const MemoryTrace& trace) : trace_(trace) {}
    void decode(const trace::EventChunk& chunk, trace::EventBatch& batch) override {
      const auto number = (chunk.file_offset - 64) / 100;
      if (trace_.damaged_chunks.contains(number)) {
        throw trace::TraceError("checksum does not match");
      }
      const auto& calls = trace_.calls_.at(chunk.thread);
      const auto start = trace_.starts_.at(number);
      batch = {};
      for (std::size_t index = 0; index < chunk.count; ++index) {
        const auto& call = calls[start + index];
        batch.kind.push_back(call.kind);
        batch.alignment_log2.push_back(call.alignment_log2);
        batch.duration_ns.push_back(call.duration_ns);
        batch.stack.push_back(call.stack < trace_.stacks ? call.stack : 0);
        batch.begin_ns.push_back(call.begin_ns);
        batch.size.push_back(call.size);
        batch.usable.push_back(call.usable);
        batch.address.push_back(call.address);
        batch.old_address.push_back(call.old_address);
        if (!call.kernel.is_nothing()) {
          batch.kernel.push_back({static_cast<std::uint32_t>(index), call.kernel});
        }
      }
    }

   private:
    const MemoryTrace& trace_;
  };

  std::map<std::uint32_t, std::vector<Call>> calls_;
  std::vector<trace::EventChunk> chunks_;
  std::vector<trace::ScanChunk> scans_;
  std::vector<std::size_t> starts_;  // of each chunk within its thread's calls
};

}  // namespace heapwright::order
