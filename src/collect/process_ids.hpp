// SPDX-License-Identifier: MIT
// Processes by their ids here. One in a PID namespace of its own knows itself,
// and tells itself, by another number.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace heapwright::collect {

class ProcessIds {
 public:
  // Above every id that the kernel gives away.
  static constexpr std::uint32_t first_stand_in = (1U << 22) + 1;

  // `own_namespace` as session::Control has it.
  explicit ProcessIds(std::uint32_t own_namespace) : own_namespace_(own_namespace) {}

  bool is_elsewhere(std::uint32_t pid_namespace) const noexcept {
    return pid_namespace != 0 && pid_namespace != own_namespace_;
  }
  // Here, the id of a process that is `id` in its namespace. A process that had
  // ended before anybody looked has a stand-in, one for all times.
  std::uint32_t here(std::uint32_t pid_namespace, std::uint32_t id);
  // Processes may have started since: the next question looks again.
  void forget_look() noexcept { has_looked_ = false; }

 private:
  void look();

  std::uint32_t own_namespace_;
  bool has_looked_ = false;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;  // by namespace << 32 | id there
  // Of processes whose namespace may not be asked, by the id there.
  std::unordered_map<std::uint32_t, std::uint32_t> of_others_;
  std::uint32_t next_stand_in_ = first_stand_in;
};

}  // namespace heapwright::collect
