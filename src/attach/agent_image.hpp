// SPDX-License-Identifier: MIT
// An agent's file, which this program carries within itself, as it is to stand in a process's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attach/agent/layout.hpp"

namespace heapwright::attach {

enum class AgentKind : std::uint32_t { counting = 1, recording = 2 };

class AgentImage {
 public:
  // Refusal: this program was built wrongly.
  explicit AgentImage(AgentKind kind);

  AgentKind kind() const noexcept { return kind_; }

  // From its begin to its end in memory, whole pages.
  std::uint64_t bytes() const noexcept { return bytes_; }
  // What lies before is code, what follows is written to; whole pages.
  std::uint64_t data_offset() const noexcept { return data_offset_; }
  // What it has to have right after it: the page of counters, or nothing; whole pages.
  std::uint64_t tail_bytes() const noexcept;
  // Of what begins with an agent::Agent, and of the table of threads.
  std::uint64_t agent_offset() const noexcept { return agent_offset_; }
  std::uint64_t threads_offset() const noexcept { return threads_.offset; }
  std::uint64_t threads_bytes() const noexcept { return threads_.bytes; }
  // Tells this version's code from others'.
  std::uint64_t checksum() const noexcept { return checksum_; }

  // An entry's hook in a process that has the agent at `base`.
  std::uint64_t hook(agent::Entry entry, std::uint64_t base) const;

  // What stands in the memory of a process that has it at `base`, as far as it is not all 0.
  std::vector<std::uint8_t> placed_at(std::uint64_t base) const;

 private:
  template <typename Row>
  std::span<const Row> rows(std::uint64_t offset, std::uint64_t count) const;
  struct Place {
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  Place find(std::string_view symbol) const;

  AgentKind kind_;
  std::span<const std::uint8_t> file_;
  std::uint64_t bytes_ = 0;
  std::uint64_t data_offset_ = 0;
  std::uint64_t agent_offset_ = 0;
  Place threads_{};
  std::uint64_t hooks_offset_ = 0;
  std::uint64_t checksum_ = 0;
};

}  // namespace heapwright::attach
