// SPDX-License-Identifier: MIT
#include "collect/snapshot_request.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string_view>

#include "collect/options.hpp"
#include "collect/proc_files.hpp"
#include "collect/report.hpp"
#include "collect/session_text.hpp"
#include "session/layout.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::collect {
namespace {

constexpr std::string_view session_name = "/memfd:heapwright";
constexpr std::size_t first_page_bytes = offsetof(session::ProcessBlock, pcs);

std::string folder_of(std::uint32_t process) { return "/proc/" + std::to_string(process); }

std::string target_of(const std::string& link) {
  char path[4096];
  const ssize_t length = readlink(link.c_str(), path, sizeof path);
  return std::string(path, length > 0 ? static_cast<std::size_t>(length) : 0);
}

// Its list of mappings may not be opened, whatever the permissions of the file say.
bool is_forbidden(std::uint32_t process) {
  const int file = open((folder_of(process) + "/maps").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == EACCES || errno == EPERM;
  close(file);
  return false;
}

// The inode of the session that a process maps; 0: none.
std::uint64_t session_of(std::uint32_t process) {
  const std::string maps = read_file(tracee::memory_folder(static_cast<pid_t>(process)) + "/maps");
  const std::size_t name = maps.find(session_name);
  if (name == std::string::npos) return 0;
  const std::size_t line = maps.rfind('\n', name);
  // begin-end access offset device inode name
  const std::string_view before =
      std::string_view(maps).substr(line == std::string::npos ? 0 : line + 1, name - line);
  std::size_t at = 0;
  for (int field = 0; field < 4; ++field) at = before.find(' ', at) + 1;
  return number_at(before.substr(at)).value_or(0);
}

// A collector has the session open, a recorded process only mapped; -1: nobody that we may look at has.
int open_session(std::uint64_t inode) {
  for (const std::uint32_t process : numbers_in("/proc")) {
    const std::string folder = folder_of(process) + "/fd/";
    for (const std::uint32_t number : numbers_in(folder)) {
      const std::string link = folder + std::to_string(number);
      struct stat status;
      if (!target_of(link).starts_with(session_name) || stat(link.c_str(), &status) != 0) continue;
      if (status.st_ino != inode) continue;
      const int file = open(link.c_str(), O_RDWR | O_CLOEXEC);
      if (file >= 0) return file;
    }
  }
  return -1;
}

// The first page of a process's block; nullptr if it is another's.
session::ProcessBlock* map_block_of(int file, std::uint32_t index, std::uint32_t own_number) {
  void* const page = mmap(nullptr, first_page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                          static_cast<off_t>(session::process_offset(index)));
  if (page == MAP_FAILED) return nullptr;
  auto* const block = static_cast<session::ProcessBlock*>(page);
  const bool is_live = block->state.load(std::memory_order_acquire) == session::process_live;
  if (is_live && block->process_id == own_number) return block;
  munmap(page, first_page_bytes);
  return nullptr;
}

session::ProcessBlock* find_block(int file, const session::Control& control, std::uint32_t process) {
  if (control.layout_bytes != sizeof(session::ProcessBlock) / 4096) {
    throw UsageError("it is recorded by another version of heapwright: use that one");
  }
  const std::uint32_t used = std::min(control.next_process_hint.load(), session::max_processes);
  const std::uint32_t own_number = own_number_in(read_file(folder_of(process) + "/status"));
  for (std::uint32_t index = 0; index < used; ++index) {
    session::ProcessBlock* const block = map_block_of(file, index, own_number != 0 ? own_number : process);
    if (block != nullptr) return block;
  }
  return nullptr;
}

// False: the collector has ended.
bool wait_for_answer(const session::ProcessBlock& block, const session::Control& control,
                     std::uint32_t request) {
  for (;;) {
    const bool is_alive = session::is_collector_alive(control);
    const std::uint32_t answered = block.snapshots_answered.load(std::memory_order_acquire);
    if (answered - request <= UINT32_MAX / 2) return true;
    if (!is_alive) return false;
    const timespec pause{0, 5'000'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

int report_snapshot(std::int32_t process) {
  const auto number = static_cast<std::uint32_t>(process);
  const std::string who = "process " + std::to_string(process);
  if (access(folder_of(number).c_str(), F_OK) != 0) throw UsageError("there is no " + who);
  if (is_forbidden(number)) {
    throw UsageError("no snapshot of " + who + ": " + tracee::why_not_traced(process));
  }
  const std::uint64_t session = session_of(number);
  if (session == 0) {
    throw UsageError(who +
                     " is not being recorded: start it with heapwright record, or record it with --pid");
  }
  const int file = open_session(session);
  if (file < 0) throw UsageError("the recording of " + who + " has ended, or is another user's");
  void* const page = mmap(nullptr, session::control_without_starts_bytes, PROT_READ, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) throw UsageError("out of address space (ulimit -v)");
  const auto& control = *static_cast<const session::Control*>(page);
  session::ProcessBlock* const block = find_block(file, control, number);
  close(file);
  if (block == nullptr) throw UsageError(who + " is not recorded any longer");
  const std::uint32_t request = block->snapshot_requests.fetch_add(1) + 1;
  if (!wait_for_answer(*block, control, request)) {
    throw UsageError("the recording of " + who + " ended before the snapshot was taken");
  }
  const std::string failure = text_of(block->snapshot_failure);
  if (!failure.empty()) throw UsageError("no snapshot of " + who + ": " + failure);
  const std::string text = "{\"process_id\": " + std::to_string(process) +
                           ", \"trace\": " + quoted(text_of(block->trace_path)) +
                           ", \"blocks\": " + std::to_string(block->snapshot_blocks) +
                           ", \"bytes\": " + std::to_string(block->snapshot_bytes) +
                           ", \"stopped_ns\": " + std::to_string(block->snapshot_stopped_ns) + "}";
  return std::puts(text.c_str()) < 0 ? 1 : 0;
}

}  // namespace heapwright::collect
