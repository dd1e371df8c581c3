// SPDX-License-Identifier: MIT
// A made-up program for tests and benchmarks, the same for the same seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <unordered_map>
#include <vector>

#include "trace/event.hpp"

namespace heapwright::trace::test {

struct EventFields {
  EventKind kind = EventKind::malloc_;
  std::uint64_t begin_ns = 0;
  std::uint64_t size = 0;
  std::uint64_t usable = 0;
  std::uint64_t address = 0;
  std::uint64_t old_address = 0;
  std::uint32_t duration_ns = 0;
  std::uint32_t stack = 0;
  std::uint8_t alignment_log2 = 0;
};

inline void append(EventBatch& batch, const EventFields& event) {
  batch.kind.push_back(event.kind);
  batch.begin_ns.push_back(event.begin_ns);
  batch.size.push_back(event.size);
  batch.usable.push_back(event.usable);
  batch.address.push_back(event.address);
  batch.old_address.push_back(event.old_address);
  batch.duration_ns.push_back(event.duration_ns);
  batch.stack.push_back(event.stack);
  batch.alignment_log2.push_back(event.alignment_log2);
}

// A thread of a program that allocates, uses and releases in the ways programs
// do, on an allocator that behaves like glibc's: classes of 16 bytes, blocks
// reused last in first out, fresh ones side by side.
class ProgramThread {
 public:
  explicit ProgramThread(std::uint64_t seed, std::uint32_t stacks = 400);
  // The next `count` events.
  EventBatch run(std::size_t count);

 private:
  void allocate(EventBatch& batch, std::uint32_t site);
  void release(EventBatch& batch, std::size_t place);
  EventFields call(EventKind kind, std::uint32_t stack);

  struct Block {
    std::uint64_t address;
    std::uint64_t usable;
  };
  std::mt19937_64 random_;
  std::uint32_t stacks_;
  std::uint32_t phase_ = 0;
  std::uint64_t clock_ns_ = 1'000'000;
  std::uint64_t top_ = 0x5555'5575'9000;
  std::vector<Block> living_;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> released_;  // by usable size
};

}  // namespace heapwright::trace::test
