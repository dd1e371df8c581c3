// SPDX-License-Identifier: MIT
#include "collect/perf_map_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "collect/jit_dump.hpp"
#include "counters/page_file.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::collect {
namespace {

// 0: not known.
std::time_t begin_of(const std::string& process) {
  timespec now{};
  timespec since_boot{};
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  const std::uint64_t ticks = counters::process_start_ticks((process + "/stat").c_str());
  if (ticks == 0) return 0;
  return now.tv_sec - since_boot.tv_sec +
         static_cast<std::time_t>(ticks / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK)));
}

int open_folder(int in, const char* name) {
  return openat(in, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

const char temporary[] = "/tmp/";

}  // namespace

PerfMapFile::PerfMapFile(std::uint32_t process_id, std::uint32_t own_id, bool is_elsewhere,
                         std::time_t not_before)
    : own_id_(own_id), user_(geteuid()) {
  const std::string process = tracee::memory_folder(static_cast<pid_t>(process_id));
  struct stat status {};
  if (stat(process.c_str(), &status) == 0) user_ = status.st_uid;
  begin_ = begin_of("/proc/" + std::to_string(process_id));
  if (begin_ == 0) begin_ = not_before;
  const int root = open((process + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root >= 0) {
    folder_ = open_folder(root, "tmp");
    close(root);
  } else if (!is_elsewhere) {
    folder_ = open_folder(AT_FDCWD, "/tmp");  // it has ended already
  }
  work_folder_ = open((process + "/cwd").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

PerfMapFile::~PerfMapFile() {
  if (folder_ >= 0) close(folder_);
  if (work_folder_ >= 0) close(work_folder_);
}

std::string PerfMapFile::why_not(int file, off_t most) const {
  constexpr std::time_t coarse_seconds = 2;  // the file system's clock may be behind
  struct stat status {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return "is no regular file";
  if (status.st_uid != user_) return "belongs to another user than the process";
  if (status.st_ctim.tv_sec + coarse_seconds < begin_) return "is older than the process";
  if (status.st_size > most) return "is larger than " + std::to_string(most >> 20) + " MiB";
  return "";
}

int PerfMapFile::open_in(int folder, const std::string& shown, off_t most, std::string& problem) const {
  if (folder < 0) return -1;
  const std::string name = shown.substr(shown.rfind('/') + 1);
  // Not a FIFO that nobody writes to.
  const int file = openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) {
    if (errno == ELOOP) problem = shown + " is a link: it was not read";
    return -1;
  }
  const std::string why = why_not(file, most);
  if (why.empty()) return file;
  problem = shown + " " + why + ": it was not read";
  close(file);
  return -1;
}

bool PerfMapFile::read_map(PerfMap& map, std::string& problem) const {
  const std::string shown = temporary + ("perf-" + std::to_string(own_id_) + ".map");
  const int file = open_in(folder_, shown, most_bytes, problem);
  if (file < 0) return false;
  std::vector<char> part(1 << 20);
  off_t rest = most_bytes;  // it may grow
  ssize_t count = 0;
  while (rest > 0 && (count = read(file, part.data(), part.size())) > 0) {
    map.add({part.data(), static_cast<std::size_t>(count)});
    rest -= count;
  }
  close(file);
  return true;
}

bool PerfMapFile::read_dump(int folder, const std::string& shown, PerfMap& map, std::string& problem) const {
  const int file = open_in(folder, shown, most_dump_bytes, problem);
  if (file < 0) return false;
  const bool is_dump = read_jit_dump(file, own_id_, map);
  close(file);
  return is_dump;
}

std::vector<trace::CodeName> PerfMapFile::names_of(std::span<const LooseFrame> frames,
                                                   std::string& problem) const {
  // More would be too much for a reader of the trace.
  std::size_t room = 1 << 24;
  std::vector<trace::CodeName> names;
  if (frames.empty()) return names;
  std::vector<std::uint64_t> addresses;
  std::transform(frames.begin(), frames.end(), std::back_inserter(addresses),
                 [](const LooseFrame& frame) { return frame.address; });
  PerfMap map(std::move(addresses));
  const std::string dump = "jit-" + std::to_string(own_id_) + ".dump";
  if (!read_map(map, problem) && !read_dump(folder_, temporary + dump, map, problem) &&
      !read_dump(work_folder_, dump, map, problem)) {
    return names;
  }
  for (const LooseFrame& frame : frames) {
    const std::string_view name = map.name_at(frame.address);
    if (name.empty() || name.size() > room) continue;
    room -= name.size();
    names.push_back({frame.frame, std::string(name)});
  }
  return names;
}

}  // namespace heapwright::collect
