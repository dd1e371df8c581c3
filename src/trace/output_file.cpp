// SPDX-License-Identifier: MIT
#include "trace/output_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace heapwright::trace {

OutputFile::~OutputFile() {
  if (is_open()) close();
}

int OutputFile::create(const std::string& path, bool replace) {
  std::string place = path;
  if (replace) {
    char* real = ::realpath(path.c_str(), nullptr);  // replaces the target of a link, not the link
    if (real != nullptr) place = real;
    ::free(real);
  }
  struct stat status {};
  const bool must_go = replace && ::lstat(place.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  // Unlinked, not truncated: readers of the old file keep it.
  if (must_go && ::unlink(place.c_str()) != 0) return errno;
  descriptor_ = ::open(place.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (!is_open()) return errno;
  lock();
  return 0;
}

// Ends with this process, however it ends: InputFile::is_being_written().
void OutputFile::lock() const {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  ::fcntl(descriptor_, F_OFD_SETLK, &whole);
}

int OutputFile::write_to(int descriptor) {
  descriptor_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  is_stream_ = true;
  return is_open() ? 0 : errno;
}

int OutputFile::append(std::span<const std::uint8_t> piece) {
  const std::uint64_t end = bytes_ + piece.size();
  while (!piece.empty()) {
    const ssize_t written = ::write(descriptor_, piece.data(), piece.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error = written < 0 ? errno : EIO;
      const auto whole = static_cast<off_t>(bytes_);
      // Earlier content of a file that standard output was redirected to must not be truncated.
      if (!is_stream_ && ::ftruncate(descriptor_, whole) == 0) ::lseek(descriptor_, whole, SEEK_SET);
      return error;
    }
    piece = piece.subspan(static_cast<std::size_t>(written));
  }
  bytes_ = end;
  return 0;
}

int OutputFile::close() {
  const int result = ::close(descriptor_);
  descriptor_ = -1;
  return result == 0 ? 0 : errno;
}

}  // namespace heapwright::trace
