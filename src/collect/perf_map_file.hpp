// SPDX-License-Identifier: MIT
// Finds and reads what a recorded process writes for perf of the code that it makes at run time:
// /tmp/perf-PID.map, or else jit-PID.dump in /tmp or in the folder that it works in, as the process sees
// them. Anybody may create a file in /tmp: only a regular file of the process's user that was written since
// the process began is read, and no link is followed.
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
  static constexpr off_t most_dump_bytes = 1 << 30;  // it has the code, too

  // `process_id`: here; `own_id`: as the process itself sees it. `not_before`: for a process that is gone.
  // Keeps the folders open: when the process has ended, they can no longer be found.
  PerfMapFile(std::uint32_t process_id, std::uint32_t own_id, bool is_elsewhere, std::time_t not_before);
  ~PerfMapFile();
  PerfMapFile(const PerfMapFile&) = delete;
  PerfMapFile& operator=(const PerfMapFile&) = delete;

  // Names of the frames that it has. `problem`: why a file was not read; unchanged if there is none.
  std::vector<trace::CodeName> names_of(std::span<const LooseFrame> frames, std::string& problem) const;

 private:
  // folder: -1 if it is not known. shown: its path.
  int open_in(int folder, const std::string& shown, off_t most, std::string& problem) const;
  bool read_map(PerfMap& map, std::string& problem) const;
  bool read_dump(int folder, const std::string& shown, PerfMap& map, std::string& problem) const;
  std::string why_not(int file, off_t most) const;

  std::uint32_t own_id_;
  int folder_ = -1;
  int work_folder_ = -1;
  uid_t user_;
  std::time_t begin_ = 0;  // of the process, in Unix time
};

}  // namespace heapwright::collect
