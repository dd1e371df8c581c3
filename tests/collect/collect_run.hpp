// SPDX-License-Identifier: MIT
// Runs heapwright-collect in a folder of its own and reads back what it made.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "trace/reader.hpp"

namespace heapwright::collect::testing {

struct Outcome {
  int exit_code = -1;
  std::string output;  // standard output of the program and the collector
  std::string errors;  // standard error of both
};

// A folder that is gone after the test, the working folder of what runs.
class CollectRun {
 public:
  CollectRun();
  ~CollectRun();
  CollectRun(const CollectRun&) = delete;
  CollectRun& operator=(const CollectRun&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

  // The collector with --library, `options`, -- and `command`.
  Outcome run(std::vector<std::string> options, std::vector<std::string> command);
  // Any command line, as it is.
  Outcome run_command(const std::vector<std::string>& command);

  // The same in two steps.
  pid_t start(std::vector<std::string> options, std::vector<std::string> command);
  Outcome wait(pid_t process);

  // Limits the size of files for what is started next; 0 = no limit.
  void limit_file_bytes(unsigned long bytes) { file_limit_bytes_ = bytes; }

  // What was written to standard error so far.
  std::string errors() const;

  // Paths of all traces in the folder, sorted.
  std::vector<std::string> traces() const;

 private:
  pid_t start_command(const std::vector<std::string>& command);

  std::filesystem::path folder_;
  unsigned long file_limit_bytes_ = 0;
};

inline const std::string fake_program = HEAPWRIGHT_TEST_PROGRAM;

// False when it has not come true in half a minute.
template <typename Condition>
bool wait_until(Condition condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    usleep(5000);
  }
  return false;
}

// The program that a collector has started, waited for.
pid_t only_child_of(pid_t collector);

// All events of one thread, in order.
trace::EventBatch events_of(const trace::Reader& reader, std::uint32_t thread);

// Expects that the thread's events are the first `count` that fake_program's
// numbered events make.
void expect_numbered(const trace::Reader& reader, std::uint32_t thread, std::uint64_t count);

}  // namespace heapwright::collect::testing
