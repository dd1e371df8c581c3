// SPDX-License-Identifier: MIT
// Another process's memory. Writing to its code makes private copies of the pages and changes no file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heapwright::attach {

class TargetMemory {
 public:
  // errno says why it could not be opened; see is_open().
  explicit TargetMemory(pid_t process);
  ~TargetMemory();
  TargetMemory(const TargetMemory&) = delete;
  TargetMemory& operator=(const TargetMemory&) = delete;

  bool is_open() const noexcept { return file_ >= 0; }

  // Returns the number of bytes that could be read.
  std::size_t read_some(std::uint64_t address, void* to, std::size_t bytes) const noexcept;
  // False: not all of it could be read.
  bool read(std::uint64_t address, void* to, std::size_t bytes) const noexcept;
  bool write(std::uint64_t address, const void* from, std::size_t bytes) const noexcept;

  // 0 if it cannot be read.
  template <typename Value>
  Value value_at(std::uint64_t address) const noexcept {
    Value value{};
    if (!read(address, &value, sizeof value)) return Value{};
    return value;
  }
  template <typename Value>
  bool put(std::uint64_t address, const Value& value) const noexcept {
    return write(address, &value, sizeof value);
  }
  // Refusal: not all of it could be written.
  void must_write(std::uint64_t address, const void* from, std::size_t bytes) const;
  template <typename Value>
  void must_put(std::uint64_t address, const Value& value) const {
    must_write(address, &value, sizeof value);
  }
  // Up to the first 0, at most 4 KiB.
  std::string text_at(std::uint64_t address) const;
  std::vector<std::uint8_t> bytes_at(std::uint64_t address, std::size_t bytes) const;

 private:
  int file_;
};

}  // namespace heapwright::attach
