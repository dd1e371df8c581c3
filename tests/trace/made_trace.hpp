// SPDX-License-Identifier: MIT
// Batches and traces made up for the tests, the same for the same seed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/reader.hpp"
#include "trace/writer.hpp"

namespace heapwright::trace::test {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / (name + "." + std::to_string(std::random_device{}()))) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline std::vector<char> content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void put_content(const std::string& path, const std::vector<char>& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
}

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

// Every value may be anything its column allows, with far more repetition and
// extremes than chance would give.
EventBatch random_batch(std::uint64_t seed, std::size_t count, std::uint32_t stacks);

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

// What decode() returns for `batch`: times cut to the format's steps, columns
// that a kind does not have cleared.
EventBatch as_decoded(EventBatch batch);

void expect_equal(const EventBatch& actual, const EventBatch& expected);

// `count` stack nodes over `count` frames, each a child of an earlier one.
bool write_stacks(Writer& writer, std::uint32_t count);

// A trace with every kind of record and `chunks` chunks of `events` events on
// each of three threads.
void write_small_trace(const std::string& path, std::size_t chunks, std::size_t events);

}  // namespace heapwright::trace::test
