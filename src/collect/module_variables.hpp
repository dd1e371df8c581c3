// SPDX-License-Identifier: MIT
// Where an executable file keeps its variables, and their names. Any file may be given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heapwright::collect {

class ModuleVariables {
 public:
  // Empty if the file cannot be read.
  explicit ModuleVariables(const std::string& path);

  // Addresses in the file, as the program would have it without relocation.
  struct Segment {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  const std::vector<Segment>& writable() const noexcept { return writable_; }
  // The address of its first byte.
  std::uint64_t base() const noexcept { return base_; }
  // Of its thread-local variables, alignment included.
  std::uint64_t thread_local_bytes() const noexcept { return thread_local_bytes_; }
  // The variable at an address, demangled; empty: not known.
  std::string name_at(std::uint64_t address) const;

 private:
  struct Variable {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::string name;
  };
  std::vector<Segment> writable_;
  std::uint64_t base_ = 0;
  std::uint64_t thread_local_bytes_ = 0;
  std::vector<Variable> variables_;  // by begin
};

}  // namespace heapwright::collect
