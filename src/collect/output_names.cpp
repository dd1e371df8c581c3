// SPDX-License-Identifier: MIT
#include "collect/output_names.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "counters/page_file.hpp"

namespace heapwright::collect {
namespace {

std::string with_number(const std::string& path, unsigned number) {
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  const std::size_t dot = path.rfind('.');
  const bool has_suffix = dot != std::string::npos && dot > name;
  const std::size_t cut = has_suffix ? dot : path.size();
  return path.substr(0, cut) + "." + std::to_string(number) + path.substr(cut);
}

bool exists(const std::string& path) {
  struct stat unused;
  return lstat(path.c_str(), &unused) == 0;
}

}  // namespace

std::string file_name_part(const std::string& path) {
  constexpr char deleted[] = " (deleted)";
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.ends_with(deleted)) name.resize(name.size() - (sizeof deleted - 1));
  for (char& character : name) {
    if (static_cast<unsigned char>(character) < ' ' || character == 0x7f) character = '_';
  }
  constexpr std::size_t longest = 100;
  if (name.size() > longest) name.resize(longest);
  return name.empty() || name == "." || name == ".." ? "program" : name;
}

std::string OutputNames::expand(std::uint64_t process_id, const std::string& program) const {
  std::string path;
  for (std::size_t i = 0; i < pattern_.size(); ++i) {
    if (pattern_[i] != '%' || i + 1 == pattern_.size()) {
      path += pattern_[i];
      continue;
    }
    switch (pattern_[++i]) {
      case 'p':
        path += std::to_string(process_id);
        break;
      case 's':
        path += std::to_string(
            counters::process_start_ticks(("/proc/" + std::to_string(process_id) + "/stat").c_str()));
        break;
      case 'h':
        path += file_name_part(host_);
        break;
      case 'e':
        path += file_name_part(program);
        break;
      default:
        path += '%';
    }
  }
  return path;
}

std::string OutputNames::choose(std::uint64_t process_id, const std::string& program) {
  const std::string first = expand(process_id, program);
  if (is_stream_) {
    const bool is_new = used_.insert(first).second;
    return is_new || !takes_one_ ? first : "";
  }
  std::string path = first;
  for (unsigned number = 2; used_.contains(path) || (!replaces_existing_ && exists(path)); ++number) {
    path = with_number(first, number);
  }
  used_.insert(path);
  return path;
}

std::string OutputNames::why_not_writable(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  struct stat status;
  if (stat(folder.c_str(), &status) != 0) {
    const std::string reason = errno == ENOENT ? "does not exist; create it"
                                               : std::string("cannot be used: ") + std::strerror(errno);
    return "the output folder '" + folder + "' " + reason + " or choose another with --output";
  }
  if (!S_ISDIR(status.st_mode)) return "'" + folder + "' is not a folder; choose another with --output";
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return "'" + path + "' is a folder; choose a file with --output";
  }
  const bool is_there = exists(path);
  if (is_there && !replaces_existing_) {
    return "'" + path + "' exists; use --force to replace it or choose another with --output";
  }
  // Only an attempt shows it: permissions say nothing about a read-only disk.
  const int file =
      open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | (is_there ? 0 : O_CREAT | O_EXCL), 0600);
  if (file < 0) {
    return "cannot write '" + path + "' (" + std::strerror(errno) + "); choose another file with --output";
  }
  close(file);
  if (!is_there) unlink(path.c_str());
  return "";
}

}  // namespace heapwright::collect
