// SPDX-License-Identifier: MIT
#include "trace/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "trace/damage.hpp"

namespace heapwright::trace {

namespace {

// The lock of OutputFile::lock(). Asking takes none.
bool is_locked(int descriptor) {
  struct flock whole {};
  whole.l_type = F_RDLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(descriptor, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

}  // namespace

InputFile::InputFile(const std::string& path, std::uint64_t most_bytes) {
  // O_NONBLOCK: opening a pipe without a writer must not hang.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) throw TraceError("cannot open " + path + ": " + std::strerror(errno));
  is_being_written_ =
      is_locked(descriptor_);  // before its size is read: a file that ends now has its end mark
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw TraceError(path + " is not a regular file; give the path of a trace file");
  }
  bytes_ = std::min(static_cast<std::uint64_t>(status.st_size), most_bytes);
}

InputFile::~InputFile() { ::close(descriptor_); }

bool InputFile::read(std::uint64_t offset, void* out, std::size_t bytes) const noexcept {
  auto* at = static_cast<std::uint8_t*>(out);
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace heapwright::trace
