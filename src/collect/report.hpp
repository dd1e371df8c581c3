// SPDX-License-Identifier: MIT
// The result of a recording, for people and for machines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collect/process_recording.hpp"
#include "collect/started_processes.hpp"

namespace heapwright::collect {

struct Report {
  std::string program;
  int exit_code = 0;
  std::vector<FileSummary> files;
  std::vector<std::string> notes;
  std::vector<UnrecordedProcess> unrecorded;
  std::uint64_t more_unrecorded = 0;      // beyond those listed
  std::uint64_t starts_lost = 0;          // started when the table of starts was full
  std::uint64_t children_left_alone = 0;  // without --children
  std::uint64_t start_unix_ns = 0;        // as in the traces
  std::string session_path;               // of the session file; "": none was written
  std::string attached;  // what the attacher printed, as JSON; "": the program was started by us
  std::string detached;
  bool clock_is_tsc = false;
  double clock_error_ppm = 0;
  double clock_drift_ppm = 0;
};

// One line per file, plus what is missing.
std::vector<std::string> lines_of(const Report& report);

// The suggested next command, for the largest file; "" if there is none.
std::string next_command(const Report& report);

// One JSON object, schema "heapwright.recording/1".
std::string json_of(const Report& report);

// A string of JSON. Bytes that are no UTF-8 become '?'.
std::string quoted(const std::string& text);

// "exited", "killed", ...
const char* name_of(trace::EndReason reason);

}  // namespace heapwright::collect
