// SPDX-License-Identifier: MIT
// A copy of parts of a stopped process's memory, so that it can be looked at after the process has resumed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tracee/stopped_process.hpp"

namespace heapwright::tracee {

class MemoryCopy {
 public:
  // Reserves memory for this many bytes and touches it, which takes time: before the process is stopped. More
  // can be copied, but more slowly.
  explicit MemoryCopy(std::uint64_t expected_bytes);
  ~MemoryCopy();
  MemoryCopy(const MemoryCopy&) = delete;
  MemoryCopy& operator=(const MemoryCopy&) = delete;

  struct Run {
    std::uint64_t begin = 0;  // multiples of a word
    std::uint64_t end = 0;
  };
  // Runs by address, disjoint, above those of earlier calls. What cannot be read is left out. False: there is
  // no memory for it.
  bool add(const StoppedProcess& process, std::span<const Run> runs);

  // The words that were copied from [begin, end) on, as far as they lie together; empty if there are none at
  // `begin`.
  std::span<const std::uint64_t> from(std::uint64_t begin, std::uint64_t end) const noexcept;

 private:
  struct Area {
    std::byte* begin = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t used = 0;
  };
  struct Copied {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    const std::byte* at = nullptr;
  };

  std::byte* reserve(std::uint64_t bytes);
  void note(Run run, const std::byte* at);

  std::vector<Area> areas_;
  std::vector<Copied> copied_;  // by address
};

}  // namespace heapwright::tracee
