// SPDX-License-Identifier: MIT
// An agent's ELF file, embedded in this program, in the form in which it is placed into a process's memory.
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
  // Refusal: this program was built incorrectly.
  explicit AgentImage(AgentKind kind);

  AgentKind kind() const noexcept { return kind_; }

  // Size in memory, in whole pages.
  std::uint64_t bytes() const noexcept { return bytes_; }
  // Offset of the writable data, which follows the code; whole pages.
  std::uint64_t data_offset() const noexcept { return data_offset_; }
  // What must follow the image directly: the page of counters, or nothing; whole pages.
  std::uint64_t tail_bytes() const noexcept;
  // Offsets of the structure that begins with an agent::Agent, and of the table of threads.
  std::uint64_t agent_offset() const noexcept { return agent_offset_; }
  std::uint64_t threads_offset() const noexcept { return threads_.offset; }
  std::uint64_t threads_bytes() const noexcept { return threads_.bytes; }
  // Of the recording agent: where a table of unwind information is put.
  std::uint64_t frames_offset() const noexcept { return frames_offset_; }
  // Distinguishes this version's code from others.
  std::uint64_t checksum() const noexcept { return checksum_; }

  // Address of an entry's hook in a process with the agent at `base`. is_second: of the second allocator,
  // which only the recording agent knows.
  std::uint64_t hook(agent::Entry entry, bool is_second, std::uint64_t base) const;

  // The image's content in a process with the agent at `base`, without trailing zeros.
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
  std::uint64_t frames_offset_ = 0;
  std::uint64_t checksum_ = 0;
};

}  // namespace heapwright::attach
