// SPDX-License-Identifier: MIT
#include "attach/target_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "attach/refusal.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::attach {

TargetMemory::TargetMemory(pid_t process)
    : file_(open((tracee::memory_folder(process) + "/mem").c_str(), O_RDWR | O_CLOEXEC)) {}

TargetMemory::~TargetMemory() {
  if (file_ >= 0) close(file_);
}

std::size_t TargetMemory::read_some(std::uint64_t address, void* to, std::size_t bytes) const noexcept {
  const ssize_t length = pread(file_, to, bytes, static_cast<off_t>(address));
  return length > 0 ? static_cast<std::size_t>(length) : 0;
}

bool TargetMemory::read(std::uint64_t address, void* to, std::size_t bytes) const noexcept {
  return read_some(address, to, bytes) == bytes;
}

bool TargetMemory::write(std::uint64_t address, const void* from, std::size_t bytes) const noexcept {
  return pwrite(file_, from, bytes, static_cast<off_t>(address)) == static_cast<ssize_t>(bytes);
}

void TargetMemory::must_write(std::uint64_t address, const void* from, std::size_t bytes) const {
  if (write(address, from, bytes)) return;
  throw Refusal(
      "its memory cannot be written to; the kernel forbids it (proc_mem.force_override?), or it ended");
}

std::string TargetMemory::text_at(std::uint64_t address) const {
  char text[4096];
  const std::size_t length = read_some(address, text, sizeof text);
  return {text, strnlen(text, length)};
}

std::vector<std::uint8_t> TargetMemory::bytes_at(std::uint64_t address, std::size_t bytes) const {
  std::vector<std::uint8_t> found(bytes);
  found.resize(read_some(address, found.data(), bytes));
  return found;
}

}  // namespace heapwright::attach
