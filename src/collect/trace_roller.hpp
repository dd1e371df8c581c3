// SPDX-License-Identifier: MIT
// Keeps a running trace below a size: when it has grown, writes a copy without freed blocks and replaces it.
// Its own thread does the work, so that no lane waits for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "collect/rolled_trace.hpp"

namespace heapwright::collect {

class TraceRoller {
 public:
  // The old and the new trace together stay below room_bytes, except for events written meanwhile.
  TraceRoller(std::string path, std::uint64_t room_bytes)
      : path_(std::move(path)), room_bytes_(room_bytes), next_bytes_(roll_at()) {}
  // Abandons the current roll; the old trace stays.
  ~TraceRoller() { give_up(); }
  TraceRoller(const TraceRoller&) = delete;
  TraceRoller& operator=(const TraceRoller&) = delete;

  bool is_due(std::uint64_t file_bytes) const noexcept {
    return !thread_.joinable() && file_bytes >= next_bytes_;
  }
  // file_bytes: size of the whole chunks, which have all events before now_ns.
  void begin(std::uint64_t file_bytes, std::uint64_t now_ns);
  bool is_under_way() const noexcept { return thread_.joinable(); }
  bool is_done() const noexcept { return is_done_.load(std::memory_order_acquire); }
  // Waits for the new trace, which has all of the old one's file_bytes and has replaced it. nullopt: there is
  // none, and the old trace continues.
  std::optional<RolledTrace> finish(std::uint64_t file_bytes);
  void give_up();

 private:
  std::uint64_t roll_at() const noexcept { return room_bytes_ / 8 * 5; }
  std::string new_path() const { return path_ + ".new"; }
  void make(std::uint64_t now_ns);

  std::string path_;
  std::uint64_t room_bytes_;
  std::uint64_t next_bytes_;  // when the next roll is due
  std::uint64_t whole_bytes_ = 0;
  std::atomic<bool> is_given_up_ = false;
  std::atomic<bool> is_done_ = false;
  std::optional<RolledTrace> rolled_;
  std::thread thread_;
};

}  // namespace heapwright::collect
