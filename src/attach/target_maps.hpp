// SPDX-License-Identifier: MIT
// A process's address space: its mappings, and free ranges.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heapwright::attach {

struct Mapping {
  std::uint64_t begin;
  std::uint64_t end;
  std::string permissions;  // "r-xp"
  std::string name;         // empty: anonymous
};

// In order of address.
std::vector<Mapping> parse_maps(const std::string& text);
std::vector<Mapping> read_maps(pid_t process);

// The mapping that contains the address; nullptr: none does.
const Mapping* find_mapping(const std::vector<Mapping>& maps, std::uint64_t address);

// A free range of `bytes`, a page away from other mappings, from which every address between `lowest` and
// `highest` can be reached by a signed distance of 32 bits. The nearest such range, 1 GiB away from where the
// heap or a stack would grow.
std::optional<std::uint64_t> find_room(const std::vector<Mapping>& maps, std::uint64_t bytes,
                                       std::uint64_t lowest, std::uint64_t highest);

}  // namespace heapwright::attach
