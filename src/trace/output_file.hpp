// SPDX-License-Identifier: MIT
// A file that grows only by whole pieces: if a piece cannot be written in full, the file is truncated to
// where the piece began.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace heapwright::trace {

class OutputFile {
 public:
  OutputFile() = default;
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Mode 0600. An existing file is kept (EEXIST) unless `replace` and it is a regular file. Returns 0 or
  // errno.
  int create(const std::string& path, bool replace);
  // A copy of an open descriptor of a pipe or a device: the written part of a failed piece remains there.
  // Returns 0 or errno.
  int write_to(int descriptor);
  // Both return 0 or errno. A failed piece leaves the file unchanged.
  int append(std::span<const std::uint8_t> piece);
  int close();

  std::uint64_t bytes() const noexcept { return bytes_; }
  bool is_open() const noexcept { return descriptor_ >= 0; }

 private:
  void lock() const;

  int descriptor_ = -1;
  bool is_stream_ = false;
  std::uint64_t bytes_ = 0;
};

}  // namespace heapwright::trace
