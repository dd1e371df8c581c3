// SPDX-License-Identifier: MIT
// A file read at given offsets by any number of threads. Read rather than mapped: a file that shrinks under a
// mapping kills the reader, and mapped pages would count as this process's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace heapwright::trace {

class InputFile {
 public:
  // Its first most_bytes. Throws TraceError unless `path` is a regular file that can be read.
  explicit InputFile(const std::string& path, std::uint64_t most_bytes = UINT64_MAX);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t bytes() const noexcept { return bytes_; }
  // Whether its writer had it open when it was opened here.
  bool is_being_written() const noexcept { return is_being_written_; }
  // Fills `out`; false if the file holds fewer bytes there.
  bool read(std::uint64_t offset, void* out, std::size_t bytes) const noexcept;

 private:
  int descriptor_ = -1;
  bool is_being_written_ = false;
  std::uint64_t bytes_ = 0;  // at open; a file still being written may be longer now
};

}  // namespace heapwright::trace
