// SPDX-License-Identifier: MIT
// A process's address space: what is mapped where, and where there is room.
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

// In order of addresses.
std::vector<Mapping> parse_maps(const std::string& text);
std::vector<Mapping> read_maps(pid_t process);

// The mapping that holds the address; nullptr: none does.
const Mapping* find_mapping(const std::vector<Mapping>& maps, std::uint64_t address);

// Where `bytes` fit, a page away from what is mapped and such that any place within reaches any address
// from `lowest` to `highest` by a signed distance of 32 bits. The nearest such place; not where the heap or
// a stack would grow to.
std::optional<std::uint64_t> find_room(const std::vector<Mapping>& maps, std::uint64_t bytes,
                                       std::uint64_t lowest, std::uint64_t highest);

}  // namespace heapwright::attach
