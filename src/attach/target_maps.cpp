// SPDX-License-Identifier: MIT
#include "attach/target_maps.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "tracee/process_status.hpp"

namespace heapwright::attach {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t least_address = 1 << 20;
constexpr std::uint64_t most_reach = 0x7fff0000;
constexpr std::uint64_t room_to_grow = 1 << 30;  // of the heap, which then maps what it needs, and the stack

struct Wanted {
  std::uint64_t bytes;
  std::uint64_t lowest;
  std::uint64_t highest;
};

bool reaches(const Wanted& wanted, std::uint64_t begin) {
  const std::uint64_t end = begin + wanted.bytes;
  const std::uint64_t below = std::min(begin, wanted.lowest);
  const std::uint64_t above = std::max(end, wanted.highest);
  return above - below < most_reach;
}

std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

}  // namespace

std::vector<Mapping> parse_maps(const std::string& text) {
  std::vector<Mapping> maps;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    unsigned long begin = 0;
    unsigned long end = 0;
    char permissions[5] = "";
    int name_at = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %*s %*s %*s %n", &begin, &end, permissions, &name_at) < 3) {
      continue;
    }
    const auto at = std::min(line.size(), static_cast<std::size_t>(name_at));
    maps.push_back({begin, end, permissions, name_at == 0 ? "" : line.substr(at)});
  }
  return maps;
}

std::vector<Mapping> read_maps(pid_t process) {
  std::ifstream file(tracee::memory_folder(process) + "/maps");
  std::ostringstream text;
  text << file.rdbuf();
  return parse_maps(text.str());
}

const Mapping* find_mapping(const std::vector<Mapping>& maps, std::uint64_t address) {
  const auto behind =
      std::upper_bound(maps.begin(), maps.end(), address,
                       [](std::uint64_t value, const Mapping& mapping) { return value < mapping.end; });
  return behind != maps.end() && behind->begin <= address ? &*behind : nullptr;
}

std::optional<std::uint64_t> find_room(const std::vector<Mapping>& maps, std::uint64_t bytes,
                                       std::uint64_t lowest, std::uint64_t highest) {
  const Wanted wanted{bytes, lowest, highest};
  std::optional<std::uint64_t> best;
  for (std::size_t at = 0; at + 1 < maps.size(); ++at) {
    const std::uint64_t begin = std::max(maps[at].end, least_address);
    const std::uint64_t end = maps[at + 1].begin;
    const std::uint64_t behind = maps[at].name == "[heap]" ? room_to_grow : page_bytes;
    const std::uint64_t before = maps[at + 1].name.starts_with("[stack") ? room_to_grow : page_bytes;
    if (end < begin || end - begin < behind + bytes + before) continue;
    for (const std::uint64_t place : {begin + behind, end - before - bytes}) {
      if (!reaches(wanted, place)) continue;
      if (!best || distance(place, lowest) < distance(*best, lowest)) best = place;
    }
  }
  return best;
}

}  // namespace heapwright::attach
