// SPDX-License-Identifier: MIT
// Batches and traces made up for the tests, the same for the same seed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "program_thread.hpp"
#include "trace/reader.hpp"
#include "trace/writer.hpp"

namespace heapwright::trace::test {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              (name + "." + std::to_string(std::random_device{}()))) {}
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

// Every value may be anything its column allows, with far more repetition and
// extremes than chance would give.
EventBatch random_batch(std::uint64_t seed, std::size_t count, std::uint32_t stacks);

// What decode() returns for `batch`: times cut to the format's steps, columns
// that a kind does not have cleared.
EventBatch as_decoded(EventBatch batch);

void expect_equal(const EventBatch& actual, const EventBatch& expected);

// `count` stack nodes over `count` frames, each a child of an earlier one.
bool write_stacks(Writer& writer, std::uint32_t count);

// A list of mappings and a scan of their pages, for round trips.
std::vector<Mapping> made_mappings();
ResidencyScan made_scan(std::uint64_t begin_ns);

// A trace with every kind of record and `chunks` chunks of `events` events on
// each of three threads.
void write_small_trace(const std::string& path, std::size_t chunks, std::size_t events);

}  // namespace heapwright::trace::test
