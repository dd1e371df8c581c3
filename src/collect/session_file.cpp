// SPDX-License-Identifier: MIT
#include "collect/session_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "collect/write_all.hpp"

namespace heapwright::collect {
namespace {

constexpr char trace_suffix[] = ".heapwright";
constexpr char session_suffix[] = ".session.json";

// Replaces only regular files.
int make_file(const std::string& path, bool replaces_existing) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  return open(path.c_str(), flags | (replaces_existing ? O_TRUNC : O_EXCL), 0600);
}

}  // namespace

std::string write_session_file(const std::string& first_trace, const std::string& text,
                               bool replaces_existing) {
  std::string stem = first_trace;
  if (stem.ends_with(trace_suffix)) stem.resize(stem.size() - (sizeof trace_suffix - 1));
  std::string path = stem + session_suffix;
  int file = make_file(path, replaces_existing);
  for (unsigned number = 2; file < 0 && errno == EEXIST && !replaces_existing; ++number) {
    path = stem + "." + std::to_string(number) + session_suffix;
    file = make_file(path, false);
  }
  if (file < 0) return "";
  const bool is_written = write_all(file, text.data(), text.size());
  const int error_number = errno;
  const bool is_closed = close(file) == 0;
  if (is_written && is_closed) return path;
  if (!is_written) errno = error_number;
  return "";
}

}  // namespace heapwright::collect
