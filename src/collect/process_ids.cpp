// SPDX-License-Identifier: MIT
#include "collect/process_ids.hpp"

#include <string>

#include "collect/proc_files.hpp"

namespace heapwright::collect {
namespace {

std::uint64_t key_of(std::uint32_t pid_namespace, std::uint32_t id) {
  return std::uint64_t{pid_namespace} << 32 | id;
}

}  // namespace

std::uint32_t ProcessIds::here(std::uint32_t pid_namespace, std::uint32_t id) {
  if (id == 0 || !is_elsewhere(pid_namespace)) return id;
  if (!is_lookup_valid_) look();
  const std::uint64_t key = key_of(pid_namespace, id);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  if (const auto found = unreadable_.find(id); found != unreadable_.end()) return found->second;
  return known_[key] = next_stand_in_++;
}

void ProcessIds::look() {
  is_lookup_valid_ = true;
  unreadable_.clear();
  for (const std::uint32_t process_id : numbers_in("/proc")) {
    const std::string name = std::to_string(process_id);
    const std::uint32_t pid_namespace = pid_namespace_of(name);
    if (pid_namespace == own_namespace_) continue;
    const std::uint32_t id = own_number_in(read_file("/proc/" + name + "/status"));
    if (id == 0 || id == process_id) continue;
    if (pid_namespace != 0) {
      known_[key_of(pid_namespace, id)] = process_id;
    } else {
      unreadable_[id] = process_id;
    }
  }
}

}  // namespace heapwright::collect
