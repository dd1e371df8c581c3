// SPDX-License-Identifier: MIT
#include "collect/preload_check.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <sstream>

#include "collect/elf_facts.hpp"
#include "collect/own_processor.hpp"

namespace heapwright::collect {
namespace {

constexpr int most_interpreters = 5;  // the kernel's limit

// Where exec would have found it, using the collector's search path.
std::string locate(const std::string& program, std::uint32_t process_id) {
  if (program.starts_with('/')) return program;
  if (program.find('/') != std::string::npos) {
    return "/proc/" + std::to_string(process_id) + "/cwd/" + program;
  }
  const char* search_path = getenv("PATH");
  std::istringstream folders(search_path != nullptr ? search_path : "/usr/bin:/bin");
  std::string folder;
  while (std::getline(folders, folder, ':')) {
    std::string path = folder + "/" + program;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return program;
}

// "#!/bin/sh -e" names "/bin/sh".
std::string interpreter_in(int file) {
  char text[256];
  const ssize_t length = pread(file, text, sizeof text, 0);
  std::istringstream line(std::string(text, length > 0 ? static_cast<std::size_t>(length) : 0));
  char marks[2] = {};
  line.read(marks, sizeof marks);
  std::string interpreter;
  if (marks[0] == '#' && marks[1] == '!') line >> interpreter;
  return interpreter;
}

// The loader ignores LD_PRELOAD only if the program gains privileges: it does not if the file belongs to the
// user.
bool changes_user(const struct stat& status, std::uint32_t user_id) {
  return ((status.st_mode & S_ISUID) != 0 && status.st_uid != user_id) || (status.st_mode & S_ISGID) != 0;
}

std::string judge(int file, std::uint32_t user_id) {
  struct stat status {};
  if (fstat(file, &status) == 0 && changes_user(status, user_id)) {
    return "it is setuid or setgid: the loader ignores preloaded libraries in it";
  }
  if (user_id != 0 && fgetxattr(file, "security.capability", nullptr, 0) > 0) {
    return "it has file capabilities: the loader ignores preloaded libraries in it";
  }
  const ElfFacts facts = inspect_elf(file);
  if (!facts.is_elf) return "";
  if (!facts.is_64_bit || (facts.is_readable && !facts.is_of_own_processor)) {
    return "it is not a 64-bit program for " + std::string(own_processor);
  }
  if (facts.is_readable && facts.interpreter.empty() && !facts.is_loader()) {
    if (facts.runtime == "Go" && !facts.defines_malloc) {
      return "it is a Go program without C code: it makes no heap calls";
    }
    return "it is linked statically: no library can be preloaded";
  }
  if (!facts.sanitizer.empty()) return "it is built with " + facts.sanitizer + ", which brings its own heap";
  return "";
}

}  // namespace

std::string why_never(const std::string& program, std::uint32_t process_id, std::uint32_t user_id) {
  std::string path = locate(program, process_id);
  for (int step = 0; step < most_interpreters && !path.empty(); ++step) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return "";
    std::string reason = judge(file, user_id);
    path = interpreter_in(file);
    close(file);
    if (!reason.empty()) return reason;
  }
  return "";
}

bool is_open_to_all(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || (status.st_mode & S_IROTH) == 0) return false;
  for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash != 0;
       slash = path.rfind('/', slash - 1)) {
    if (stat(path.substr(0, slash).c_str(), &status) != 0 || (status.st_mode & S_IXOTH) == 0) return false;
  }
  return true;
}

}  // namespace heapwright::collect
