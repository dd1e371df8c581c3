// SPDX-License-Identifier: MIT
#include "collect/output_stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "collect/options.hpp"

namespace heapwright::collect {

bool is_stream(const std::string& path) {
  if (path == standard_output) return true;
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

int take_standard_output() {
  if (isatty(STDOUT_FILENO) == 1) {
    throw UsageError(
        "a trace is binary: send standard output to a file or a pipe, or name a file with --output");
  }
  const int descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (descriptor < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    throw UsageError(std::string("cannot write standard output (") + std::strerror(errno) + ")");
  }
  return descriptor;
}

int open_stream(const std::string& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) {
    throw UsageError("cannot write '" + path + "' (" + std::strerror(errno) +
                     "); choose another file with --output");
  }
  return descriptor;
}

bool takes_one_trace(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) != 0 || !S_ISCHR(status.st_mode);
}

}  // namespace heapwright::collect
