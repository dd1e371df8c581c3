// SPDX-License-Identifier: MIT
// Finds and reads the map of code made at run time that a recorded process writes: /tmp/perf-PID.map, as the
// process sees it. Anybody may create a file there: only a regular file of the process's user that was
// written since the process began is read, and no link is followed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <span>
#include <string>
#include <vector>

#include "collect/perf_map.hpp"
#include "collect/stack_definitions.hpp"
#include "trace/records.hpp"

namespace heapwright::collect {

class PerfMapFile {
 public:
  static constexpr off_t most_bytes = 256 << 20;

  // `process_id`: here; `own_id`: as the process itself sees it. `not_before`: for a process that is gone.
  // Keeps the folder open: when the process has ended, its own /tmp can no longer be found.
  PerfMapFile(std::uint32_t process_id, std::uint32_t own_id, bool is_elsewhere, std::time_t not_before);
  ~PerfMapFile();
  PerfMapFile(const PerfMapFile&) = delete;
  PerfMapFile& operator=(const PerfMapFile&) = delete;

  // Names of the frames that the map has. `problem`: why a map was not read; unchanged if there is none.
  std::vector<trace::CodeName> names_of(std::span<const LooseFrame> frames, std::string& problem) const;

 private:
  bool read_into(PerfMap& map, std::string& problem) const;
  std::string why_not(int file) const;

  std::string name_;
  int folder_ = -1;
  uid_t user_;
  std::time_t begin_ = 0;  // of the process, in Unix time
};

}  // namespace heapwright::collect
