// SPDX-License-Identifier: MIT
#include "collect/unseen_allocators.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "collect/session_text.hpp"

namespace heapwright::collect {
namespace {

// Its own functions are dynamically bound and recorded (src/record/own_names.cpp).
bool has_recorded_names(const std::string& allocator) {
  return allocator == "jemalloc" || allocator == "mimalloc" || allocator == "tcmalloc";
}

// Whether the file is the allocator itself, such as libjemalloc.so.2.
bool is_library_of(const std::string& path, const std::string& allocator) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.starts_with("lib" + allocator);
}

}  // namespace

std::string unseen_in(const std::string& path, const ElfFacts& facts, bool is_program) {
  const std::string remedy = "; link it as a shared library or preload it to record them";
  const std::string allocator = facts.own_allocator.empty() ? "an allocator" : facts.own_allocator;
  if (is_program && facts.defines_malloc && !facts.passes_malloc_on) {
    return "'" + path + "' has " + allocator +
           " linked in statically and calls it directly: its heap calls are not seen" + remedy;
  }
  if (facts.own_allocator.empty()) return "";
  if (!is_library_of(path, allocator)) {
    return "'" + path + "' has " + allocator +
           " linked in statically: calls to it are not seen, only those to malloc and free" + remedy;
  }
  if (has_recorded_names(allocator)) return "";
  return "'" + path + "' is " + allocator +
         ": calls to its own functions are not seen, only those to malloc and free";
}

const std::string& UnseenAllocators::line_of(const std::string& path, bool is_program) {
  const auto [entry, is_new] = known_.try_emplace(path);
  if (!is_new) return entry->second;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return entry->second;
  struct stat status;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    entry->second = unseen_in(path, inspect_elf(file), is_program);
  }
  close(file);
  return entry->second;
}

std::vector<std::string> UnseenAllocators::of(const session::ProcessBlock& block) {
  const std::string executable = text_of(block.executable);
  std::vector<std::string> lines;
  const auto add = [&](const std::string& path) {
    const std::string& line = line_of(path, path == executable);
    if (!line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  };
  add(executable);
  const std::uint32_t count =
      std::min(block.module_count.load(std::memory_order_acquire), session::max_modules);
  for (std::uint32_t index = 0; index < count; ++index) {
    const std::string path = text_of(block.modules[index].path);
    if (path.starts_with('/')) add(path);
  }
  return lines;
}

}  // namespace heapwright::collect
