// SPDX-License-Identifier: MIT
#include "figures/group_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace heapwright::figures {
namespace {

constexpr std::uint64_t unlimited = UINT64_MAX;

// The file names of one cgroup version.
struct Names {
  const char* folder;
  const char* limit;
  const char* used;
  std::string_view inactive;
  std::string_view active;
};
constexpr Names version_1{"/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                          "\ntotal_inactive_file ", "\ntotal_active_file "};
constexpr Names version_2{"", "memory.max", "memory.current", "\ninactive_file ", "\nactive_file "};

// 0 if there is none.
std::uint64_t number_behind(std::string_view text, std::string_view name) noexcept {
  const auto at = text.find(name);
  if (at == std::string_view::npos) return 0;
  std::uint64_t number = 0;
  std::from_chars(text.data() + at + name.size(), text.data() + text.size(), number);
  return number;
}

class Group {
 public:
  Group(const Names& names, std::string_view root, std::string_view path) noexcept
      : names_(names), root_(root), path_(path) {}

  std::uint64_t available_bytes() const noexcept {
    char buffer[8192];
    std::uint64_t limit = 0;
    std::uint64_t used = 0;
    if (!number_of(names_.limit, limit) || !number_of(names_.used, used)) return unlimited;
    const auto stat = read("memory.stat", buffer);
    const auto of_files = number_behind(stat, names_.inactive) + number_behind(stat, names_.active);
    used -= std::min(used, of_files);
    return limit - std::min(limit, used);
  }

 private:
  std::string_view read(const char* name, std::span<char> buffer) const noexcept {
    char path[4096];
    const auto length =
        std::snprintf(path, sizeof(path), "%.*s%s%.*s/%s", static_cast<int>(root_.size()), root_.data(),
                      names_.folder, static_cast<int>(path_.size()), path_.data(), name);
    return length < 0 || static_cast<std::size_t>(length) >= sizeof(path) ? std::string_view{}
                                                                          : read_file(path, buffer);
  }

  // Without a limit, version 2 has "max".
  bool number_of(const char* name, std::uint64_t& number) const noexcept {
    char buffer[32];
    const auto text = read(name, buffer);
    return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc{};
  }

  const Names& names_;
  std::string_view root_;
  std::string_view path_;
};

// The minimum over the group and all its ancestors.
std::uint64_t least_of(const Names& names, std::string_view root, std::string_view path) noexcept {
  std::uint64_t least = unlimited;
  while (true) {
    while (path.ends_with('/')) path.remove_suffix(1);
    least = std::min(least, Group(names, root, path).available_bytes());
    if (path.empty()) return least;
    const auto last = path.rfind('/');
    path = path.substr(0, last == std::string_view::npos ? 0 : last);
  }
}

}  // namespace

std::uint64_t group_available_bytes(std::string_view groups, std::string_view root) noexcept {
  std::uint64_t least = unlimited;
  while (!groups.empty()) {
    const auto line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(line.size() + 1, groups.size()));
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const auto path = line.substr(second + 1);
    if (controllers.empty()) least = std::min(least, least_of(version_2, root, path));
    if (controllers == "memory") least = std::min(least, least_of(version_1, root, path));
  }
  return least;
}

std::string_view read_file(const char* path, std::span<char> buffer) noexcept {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::size_t length = 0;
  while (length < buffer.size()) {
    const ssize_t count = ::read(file, buffer.data() + length, buffer.size() - length);
    if (count <= 0) break;
    length += static_cast<std::size_t>(count);
  }
  close(file);
  return {buffer.data(), length};
}

}  // namespace heapwright::figures
