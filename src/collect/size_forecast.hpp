// SPDX-License-Identifier: MIT
// Forecasts the total size of a session's traces on disk if the recording stops soon: --max-size limits the
// finished files.
#pragma once

#include <cstdint>

namespace heapwright::collect {

class SizeForecast {
 public:
  void add_finished(std::uint64_t bytes, std::uint64_t events) noexcept {
    written_bytes_ += bytes;
    written_events_ += events;
  }
  void add_growing(std::uint64_t bytes, std::uint64_t events, std::uint64_t waiting_events) noexcept {
    add_finished(bytes, events);
    waiting_events_ += waiting_events;
    ++growing_files_;
  }

  // With `more_events` still to be written.
  std::uint64_t expected_bytes(std::uint64_t more_events) const noexcept {
    const std::uint64_t bytes_per_event =
        written_events_ == 0 ? assumed_bytes_per_event : written_bytes_ / written_events_ + 1;
    return written_bytes_ + written_bytes_ / bytes_per_index_byte + growing_files_ * tail_bytes +
           (waiting_events_ + more_events) * bytes_per_event;
  }

 private:
  // Before the first event is on disk.
  static constexpr std::uint64_t assumed_bytes_per_event = 8;
  // The end of a file: threads, end mark, and a growing index.
  static constexpr std::uint64_t tail_bytes = 16384;
  static constexpr std::uint64_t bytes_per_index_byte = 128;

  std::uint64_t written_bytes_ = 0;
  std::uint64_t written_events_ = 0;
  std::uint64_t waiting_events_ = 0;
  std::uint64_t growing_files_ = 0;
};

}  // namespace heapwright::collect
