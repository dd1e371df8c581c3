// SPDX-License-Identifier: MIT
// Translates process ids to our PID namespace. A process in its own PID namespace reports itself by another
// id.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace heapwright::collect {

class ProcessIds {
 public:
  // Above every id that the kernel assigns.
  static constexpr std::uint32_t first_stand_in = (1U << 22) + 1;

  // `own_namespace` as session::Control has it.
  explicit ProcessIds(std::uint32_t own_namespace) : own_namespace_(own_namespace) {}

  bool is_elsewhere(std::uint32_t pid_namespace) const noexcept {
    return pid_namespace != 0 && pid_namespace != own_namespace_;
  }
  // The id, in our namespace, of a process that is `id` in its own. A process that ended before it was looked
  // up gets a permanent stand-in id.
  std::uint32_t here(std::uint32_t pid_namespace, std::uint32_t id);
  // Processes may have started since: the next lookup rescans.
  void expire_lookup() noexcept { is_lookup_valid_ = false; }

 private:
  void look();

  std::uint32_t own_namespace_;
  bool is_lookup_valid_ = false;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;  // by namespace << 32 | id there
  // Processes whose namespace cannot be read, by their id there.
  std::unordered_map<std::uint32_t, std::uint32_t> unreadable_;
  std::uint32_t next_stand_in_ = first_stand_in;
};

}  // namespace heapwright::collect
