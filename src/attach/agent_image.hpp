// SPDX-License-Identifier: MIT
// The agent's file, which this program carries within itself, as it is to stand in a process's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attach/agent/layout.hpp"

namespace heapwright::attach {

class AgentImage {
 public:
  // Refusal: this program was built wrongly.
  AgentImage();

  // From its begin to its end in memory, whole pages.
  std::uint64_t bytes() const noexcept { return bytes_; }
  // What lies before is code, what follows is written to; whole pages.
  std::uint64_t data_offset() const noexcept { return data_offset_; }
  // Of agent::Agent and agent::WipedOnFork.
  std::uint64_t agent_offset() const noexcept { return agent_offset_; }
  std::uint64_t threads_offset() const noexcept { return threads_offset_; }
  // Tells this version's code from others'.
  std::uint64_t checksum() const noexcept { return checksum_; }

  // An entry's hook in a process that has the agent at `base`.
  std::uint64_t hook(agent::Entry entry, std::uint64_t base) const;

  // What stands in the memory of a process that has it at `base`, as far as it is not all 0.
  std::vector<std::uint8_t> placed_at(std::uint64_t base) const;

 private:
  std::uint64_t bytes_ = 0;
  std::uint64_t data_offset_ = 0;
  std::uint64_t agent_offset_ = 0;
  std::uint64_t threads_offset_ = 0;
  std::uint64_t hooks_offset_ = 0;
  std::uint64_t checksum_ = 0;
};

}  // namespace heapwright::attach
