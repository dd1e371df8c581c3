// SPDX-License-Identifier: MIT
#include "replay/operation_times.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "figures/refusal.hpp"

namespace heapwright::replay {

OperationTimes::OperationTimes(const char* path, const PlanFile& plan) : plan_(plan), bytes_(0) {
  for (std::uint32_t lane = 0; lane < plan.header().lanes; ++lane) {
    bytes_ += plan.lanes()[lane].count * sizeof(OperationTime);
  }
  if (bytes_ == 0) return;
  const int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) figures::refuse("cannot write the times %s", path);
  const auto file_bytes = static_cast<std::size_t>(status.st_size);
  if (file_bytes != 0 && file_bytes != bytes_) figures::refuse("the times %s belong to another plan", path);
  // Allocated now, because a full disk would later cause a signal.
  if (posix_fallocate(descriptor, 0, static_cast<off_t>(bytes_)) != 0) {
    figures::refuse("no room for the times %s; set TMPDIR to a folder on a larger disk", path);
  }
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (memory == MAP_FAILED) figures::refuse("cannot map the times %s", path);
  entries_ = static_cast<OperationTime*>(memory);
}

OperationTimes::~OperationTimes() {
  if (entries_ != nullptr) munmap(static_cast<void*>(entries_), bytes_);
}

OperationTime* OperationTimes::of_lane(std::uint32_t lane) noexcept {
  std::uint64_t before = 0;
  for (std::uint32_t number = 0; number < lane; ++number) before += plan_.lanes()[number].count;
  return entries_ + before;
}

}  // namespace heapwright::replay
