// SPDX-License-Identifier: MIT
// The page of counters of an attached process: made for it, with room for all its threads, so that a full
// file system is noticed here and not in the process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace heapwright::attach {

struct PageFacts {
  std::string program;
  std::string allocator;
  bool knows_usable = false;
  bool is_whole = false;  // from the process's beginning on
  std::uint64_t clock_ns = 0;
  pid_t keeper = 0;  // the process that reads the page at the end
};

class CounterPage {
 public:
  // Replaces the file. Refusal: there is no room or no permission.
  CounterPage(pid_t process, const PageFacts& facts);
  ~CounterPage();
  CounterPage(const CounterPage&) = delete;
  CounterPage& operator=(const CounterPage&) = delete;

  const std::string& path() const noexcept { return path_; }
  // Counting begins now, with this number of tables. From here on the file outlives this object.
  void begin(std::uint64_t tables_used);
  void end();
  // This object removes the file after all.
  void discard() noexcept { is_kept_ = false; }

 private:
  void make_room();
  void put(std::uint64_t offset, const void* from, std::size_t bytes);

  pid_t process_;
  std::string path_;
  int file_ = -1;
  bool is_kept_ = false;
};

// CLOCK_MONOTONIC.
std::uint64_t monotonic_ns();

}  // namespace heapwright::attach
