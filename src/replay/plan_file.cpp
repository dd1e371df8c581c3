// SPDX-License-Identifier: MIT
#include "replay/plan_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "figures/refusal.hpp"

namespace heapwright::replay {
namespace {

constexpr const char* damaged = "the plan is damaged; make it again";

bool fits(std::uint64_t offset, std::uint64_t count, std::uint64_t entry_bytes, std::uint64_t file_bytes) {
  return offset <= file_bytes && count <= (file_bytes - offset) / entry_bytes;
}

}  // namespace

PlanFile::PlanFile(const char* path)
    : descriptor_(open_file(path)), header_(read_header()), lanes_(header_.lanes), marks_(header_.marks) {
  read(sizeof(Header), lanes_.begin(), lanes_.size() * sizeof(Lane));
  read(sizeof(Header) + lanes_.size() * sizeof(Lane), marks_.begin(), marks_.size() * sizeof(Mark));
  struct stat status {};
  fstat(descriptor_, &status);
  for (const Lane& lane : lanes_.first(lanes_.size())) {
    const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
    if (!fits(lane.offset, lane.count, sizeof(Operation), file_bytes) ||
        !fits(lane.stacks_offset, lane.count, sizeof(std::uint32_t), file_bytes) ||
        (header_.has_times != 0 && !fits(lane.times_offset, lane.count, sizeof(std::uint64_t), file_bytes))) {
      figures::refuse("%s", damaged);
    }
  }
}

PlanFile::~PlanFile() { close(descriptor_); }

int PlanFile::open_file(const char* path) noexcept {
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) figures::refuse("cannot read the plan %s", path);
  return descriptor;
}

Header PlanFile::read_header() const noexcept {
  Header header;
  read(0, &header, sizeof(header));
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) figures::refuse("%s", damaged);
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  const auto tables_bytes =
      std::uint64_t{header.lanes} * sizeof(Lane) + std::uint64_t{header.marks} * sizeof(Mark);
  const bool is_whole = header.magic == plan_magic && header.lanes > 0 && header.main_lane < header.lanes &&
                        fits(sizeof(Header), tables_bytes, 1, file_bytes) &&
                        fits(header.turns_offset, header.turns, sizeof(Turn), file_bytes) &&
                        header.slots <= file_bytes / sizeof(Operation) && header.stacks <= UINT32_MAX;
  if (!is_whole) figures::refuse("%s", damaged);
  return header;
}

void PlanFile::read(std::uint64_t offset, void* data, std::size_t bytes) const noexcept {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const auto count = pread(descriptor_, at, bytes, static_cast<off_t>(offset));
    if (count <= 0) figures::refuse("%s", damaged);
    at += count;
    bytes -= static_cast<std::size_t>(count);
    offset += static_cast<std::uint64_t>(count);
  }
}

}  // namespace heapwright::replay
