// SPDX-License-Identifier: MIT
// Kernel facts about a recorded process: whether it is alive, the names of its threads, its memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

namespace heapwright::collect {

struct MemoryReading {
  std::uint64_t anonymous_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t shared_bytes = 0;
  std::uint64_t swapped_bytes = 0;
  std::uint64_t page_table_bytes = 0;
  std::uint32_t seccomp = 0;              // a thread's mode and its number of filters; grows with each
  std::uint64_t cgroup_charge_bytes = 0;  // of the whole cgroup; 0 = not known
};

// Since the process began, over exec; 0 for what is not known.
struct ProcessorReading {
  std::uint64_t cpu_ns = 0;
  std::uint64_t system_ns = 0;
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
};

class ProcessWatch {
 public:
  // `is_elsewhere`: its threads are identified by their numbers in another PID namespace.
  explicit ProcessWatch(std::uint32_t process_id, bool is_elsewhere = false);
  ~ProcessWatch();
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

  // True once all of its threads have ended (even if it is not reaped). Nothing is written after that.
  bool is_gone();

  // How a process that is gone has ended, as from waitpid(); nullopt if only its parent knows (kernels before
  // 6.15, after it was reaped).
  std::optional<int> wait_status() const;

  // Whether the process maps the file with this inode; true if unknown. Distinguishes a recorded process from
  // a new one with the same id.
  bool maps_inode(std::uint64_t inode) const;

  // Its id in our PID namespace, by the one that the thread reports; 0 when there is none.
  std::uint32_t thread_here(std::uint32_t thread_id);
  // By the id that the thread reports.
  bool has_thread(std::uint32_t thread_id);
  // Empty when the thread is gone.
  std::string thread_name(std::uint32_t thread_id);
  bool read_memory(MemoryReading& reading);
  // Also of a process that has ended, until it is reaped.
  bool read_processor(ProcessorReading& reading) const;
  // Arguments separated by spaces; empty when they cannot be read.
  std::string command_line() const;
  // In /proc, of a thread that has the process's memory: the main one may have ended before others.
  std::string memory_folder() const;
  // The files whose code it has mapped, by their paths within the process; adds to those that are there.
  void add_code_files(std::set<std::string>& files) const;

 private:
  std::string folder() const;
  // Of a thread as of memory_folder(); empty: none has memory.
  std::string status_with_memory();
  pid_t process_id_;
  bool is_elsewhere_;
  std::unordered_map<std::uint32_t, std::uint32_t> threads_here_;  // by the id it reports, if is_elsewhere_
  int process_file_ = -1;  // pidfd; -1: out of descriptors, polled by id instead
  int status_file_ = -1;
  int stat_file_ = -1;
  int charge_file_ = -1;  // of its initial cgroup
  bool is_gone_ = false;
};

// From /proc/PID/stat; its times are in ticks. False: not understood.
bool parse_processor(const std::string& stat, std::uint64_t tick_ns, ProcessorReading& reading);

// The memory lines of /proc/PID/status.
MemoryReading parse_memory(const std::string& status);

}  // namespace heapwright::collect
