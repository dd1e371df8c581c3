// SPDX-License-Identifier: MIT
// Reads a plan's file in windows of mapped memory, so that the heap under test sees nothing of it and memory
// use stays constant. Damaged content ends the process with a message.
#pragma once

#include <cstddef>
#include <cstdint>

#include "figures/mapped_array.hpp"
#include "replay/plan.hpp"

namespace heapwright::replay {

class PlanFile {
 public:
  explicit PlanFile(const char* path);
  ~PlanFile();
  PlanFile(const PlanFile&) = delete;
  PlanFile& operator=(const PlanFile&) = delete;

  const Header& header() const noexcept { return header_; }
  const figures::MappedArray<Lane>& lanes() const noexcept { return lanes_; }
  const figures::MappedArray<Mark>& marks() const noexcept { return marks_; }
  // Threads: any.
  void read(std::uint64_t offset, void* data, std::size_t bytes) const noexcept;

 private:
  static int open_file(const char* path) noexcept;
  Header read_header() const noexcept;

  int descriptor_;
  Header header_;
  figures::MappedArray<Lane> lanes_;
  figures::MappedArray<Mark> marks_;
};

// The entries of one part of the file, in order. One thread at a time.
template <typename Entry>
class Stretch {
 public:
  void open(const PlanFile& file, std::uint64_t offset, std::uint64_t count, Entry* window,
            std::size_t window_count) noexcept {
    file_ = &file;
    offset_ = offset;
    left_ = count;
    window_ = window;
    window_count_ = window_count;
    at_ = end_ = window;
  }

  bool is_at_end() const noexcept { return left_ == 0; }
  std::uint64_t left() const noexcept { return left_; }

  // Precondition: not at the end.
  const Entry& next() noexcept {
    if (at_ == end_) fill();
    --left_;
    return *at_++;
  }

 private:
  void fill() noexcept {
    const auto count = left_ < window_count_ ? static_cast<std::size_t>(left_) : window_count_;
    file_->read(offset_, window_, count * sizeof(Entry));
    offset_ += count * sizeof(Entry);
    at_ = window_;
    end_ = window_ + count;
  }

  const PlanFile* file_ = nullptr;
  std::uint64_t offset_ = 0;
  std::uint64_t left_ = 0;
  Entry* window_ = nullptr;
  const Entry* at_ = nullptr;
  const Entry* end_ = nullptr;
  std::size_t window_count_ = 0;
};

}  // namespace heapwright::replay
