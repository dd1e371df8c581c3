// SPDX-License-Identifier: MIT
#include "collect/proc_files.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

namespace heapwright::collect {
namespace {

// 0 when the text is not a number.
std::uint32_t number_of(std::string_view text) {
  std::uint32_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && stop == text.data() + text.size() ? number : 0;
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  // A process that ends meanwhile makes the read fail; << ignores that, while an iterator would throw.
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<std::uint64_t> number_at(std::string_view text) {
  std::uint64_t value = 0;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && stop != text.data() ? std::optional(value) : std::nullopt;
}

std::vector<std::uint32_t> numbers_in(const std::string& folder) {
  std::vector<std::uint32_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  if (entries == nullptr) return numbers;
  while (const dirent* entry = readdir(entries.get())) {
    if (const std::uint32_t number = number_of(entry->d_name)) numbers.push_back(number);
  }
  return numbers;
}

std::uint32_t pid_namespace_of(const std::string& name) {
  struct stat status {};
  const bool is_known = stat(("/proc/" + name + "/ns/pid").c_str(), &status) == 0;
  return is_known ? static_cast<std::uint32_t>(status.st_ino) : 0;
}

std::uint32_t own_number_in(const std::string& status) {
  // "NSpid:\t4711\t12": one id per namespace, the innermost last.
  constexpr std::string_view label = "\nNSpid:";
  const std::size_t found = status.find(label);
  if (found == std::string::npos) return 0;
  const std::size_t begin = found + label.size();
  const std::string_view line = std::string_view(status).substr(begin, status.find('\n', begin) - begin);
  return number_of(line.substr(line.find_last_of(" \t") + 1));
}

}  // namespace heapwright::collect
