// SPDX-License-Identifier: MIT
#include "collect/process_watch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <fstream>
#include <sstream>
#include <string_view>

#include "collect/cgroup.hpp"
#include "collect/proc_files.hpp"
#include "session/seccomp_status.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::collect {
namespace {

// "RssAnon:\t     123 kB"
std::uint64_t kilobytes_after(std::string_view text, std::string_view label) {
  const std::size_t found = text.find(label);
  if (found == std::string_view::npos) return 0;
  const std::size_t digits = text.find_first_of("0123456789", found + label.size());
  if (digits == std::string_view::npos) return 0;
  std::uint64_t value = 0;
  std::from_chars(text.data() + digits, text.data() + text.size(), value);
  return value * 1024;
}

// From linux/pidfd.h of 6.15, first version of the struct.
struct PidfdInfo {
  std::uint64_t mask = 0;
  std::uint64_t cgroup_id = 0;
  std::uint32_t ids[11] = {};
  std::int32_t exit_code = 0;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t pidfd_info_exit = 1ULL << 3;

std::optional<int> status_of_reaped(int process_file, pid_t) {
  PidfdInfo info;
  info.mask = pidfd_info_exit;
  if (ioctl(process_file, _IOWR(0xff, 11, PidfdInfo), &info) != 0 || (info.mask & pidfd_info_exit) == 0) {
    return std::nullopt;
  }
  return info.exit_code;
}

// The last field of /proc/PID/stat, which is valid only for zombies.
std::optional<int> status_of_zombie(int, pid_t process_id) {
  const std::string text = read_file("/proc/" + std::to_string(process_id) + "/stat");
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos || text.compare(name_end, 3, ") Z") != 0) return std::nullopt;
  int status = 0;
  const std::size_t field = text.find_last_of(' ') + 1;
  const auto [stop, error] = std::from_chars(text.data() + field, text.data() + text.size(), status);
  return error == std::errc{} ? std::optional<int>(status) : std::nullopt;
}

}  // namespace

MemoryReading parse_memory(const std::string& status) {
  MemoryReading reading;
  reading.anonymous_bytes = kilobytes_after(status, "\nRssAnon:");
  reading.file_bytes = kilobytes_after(status, "\nRssFile:");
  reading.shared_bytes = kilobytes_after(status, "\nRssShmem:");
  reading.swapped_bytes = kilobytes_after(status, "\nVmSwap:");
  reading.page_table_bytes = kilobytes_after(status, "\nVmPTE:");
  reading.seccomp = session::seccomp_status(status);
  return reading;
}

bool parse_processor(const std::string& stat, std::uint64_t tick_ns, ProcessorReading& reading) {
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos) return false;
  // After the state: the field numbers of proc(5), from 4.
  std::uint64_t fields[16] = {};
  const char* at = stat.data() + std::min(name_end + 4, stat.size());
  const char* const end = stat.data() + stat.size();
  for (int field = 4; field < 16; ++field) {
    if (at != end && *at == '-') ++at;  // some of the first are negative
    const auto [next, error] = std::from_chars(at, end, fields[field]);
    if (error != std::errc{}) return false;
    at = std::min(next + 1, end);
  }
  reading.minor_faults = fields[10];
  reading.major_faults = fields[12];
  reading.system_ns = fields[15] * tick_ns;
  reading.cpu_ns = fields[14] * tick_ns + reading.system_ns;
  return true;
}

ProcessWatch::ProcessWatch(std::uint32_t process_id, bool is_elsewhere)
    : process_id_(process_id <= INT_MAX ? static_cast<pid_t>(process_id) : 0), is_elsewhere_(is_elsewhere) {
  if (process_id_ <= 0) {
    is_gone_ = true;
    return;
  }
  process_file_ = static_cast<int>(syscall(SYS_pidfd_open, process_id_, 0));
  if (process_file_ < 0 && errno == ESRCH) is_gone_ = true;
  status_file_ = open((folder() + "/status").c_str(), O_RDONLY | O_CLOEXEC);
  stat_file_ = open((folder() + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  const std::string charge = cgroup_charge_file(read_file(folder() + "/cgroup"), "/sys/fs/cgroup");
  if (!charge.empty()) charge_file_ = open(charge.c_str(), O_RDONLY | O_CLOEXEC);
}

ProcessWatch::~ProcessWatch() {
  if (process_file_ >= 0) close(process_file_);
  if (stat_file_ >= 0) close(stat_file_);
  if (status_file_ >= 0) close(status_file_);
  if (charge_file_ >= 0) close(charge_file_);
}

std::string ProcessWatch::folder() const { return "/proc/" + std::to_string(process_id_); }

std::string ProcessWatch::memory_folder() const { return tracee::memory_folder(process_id_); }

bool ProcessWatch::is_gone() {
  if (is_gone_) return true;
  if (process_file_ >= 0) {
    pollfd event{process_file_, POLLIN, 0};
    is_gone_ = poll(&event, 1, 0) == 1;
  } else if (kill(process_id_, 0) != 0 && errno == ESRCH) {
    is_gone_ = true;
  } else {
    // "State:\tZ (zombie)": ended, not reaped. A zombie leader with living
    // threads looks the same, but only without pidfd.
    is_gone_ = read_file(folder() + "/status").find("\nState:\tZ") != std::string::npos;
  }
  return is_gone_;
}

std::optional<int> ProcessWatch::wait_status() const {
  if (process_file_ < 0) return std::nullopt;
  // If reaped: the kernel keeps the status with the pidfd. If not yet: /proc has it. If reaped between the
  // two attempts: the third one finds it.
  for (const auto look : {&status_of_reaped, &status_of_zombie, &status_of_reaped}) {
    if (const std::optional<int> status = look(process_file_, process_id_)) return status;
  }
  return std::nullopt;
}

bool ProcessWatch::maps_inode(std::uint64_t inode) const {
  std::ifstream maps(memory_folder() + "/maps");
  const std::string wanted = " " + std::to_string(inode) + " ";
  std::string line;
  bool is_readable = false;
  while (std::getline(maps, line)) {
    is_readable = true;
    if (line.find(wanted) != std::string::npos && line.find("/memfd:heapwright") != std::string::npos) {
      return true;
    }
  }
  return !is_readable;
}

std::uint32_t ProcessWatch::thread_here(std::uint32_t thread_id) {
  if (!is_elsewhere_) return thread_id;
  if (!threads_here_.contains(thread_id)) {
    for (const std::uint32_t here : numbers_in(folder() + "/task")) {
      const std::string status = read_file(folder() + "/task/" + std::to_string(here) + "/status");
      threads_here_[own_number_in(status)] = here;
    }
  }
  const auto found = threads_here_.find(thread_id);
  return found == threads_here_.end() ? 0 : found->second;
}

bool ProcessWatch::has_thread(std::uint32_t thread_id) {
  const std::uint32_t here = is_gone_ ? 0 : thread_here(thread_id);
  if (here == 0 || here > INT_MAX) return false;
  if (syscall(SYS_tgkill, process_id_, static_cast<pid_t>(here), 0) == 0 || errno != ESRCH) return true;
  threads_here_.erase(thread_id);
  return false;
}

std::string ProcessWatch::thread_name(std::uint32_t thread_id) {
  if (is_gone_) return "";
  const std::string path = folder() + "/task/" + std::to_string(thread_here(thread_id)) + "/comm";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  char name[64];
  const ssize_t length = read(file, name, sizeof name);
  close(file);
  std::string text(name, length > 0 ? static_cast<std::size_t>(length) : 0);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string ProcessWatch::status_with_memory() {
  for (const bool is_first : {true, false}) {
    char text[4096];
    const ssize_t length = status_file_ < 0 ? -1 : pread(status_file_, text, sizeof text, 0);
    std::string status(text, length > 0 ? static_cast<std::size_t>(length) : 0);
    if (status.find("\nRssAnon:") != std::string::npos) return status;
    // The thread has ended: perhaps others have not.
    if (!is_first || tracee::has_no_memory(process_id_)) break;
    if (status_file_ >= 0) close(status_file_);
    status_file_ = open((memory_folder() + "/status").c_str(), O_RDONLY | O_CLOEXEC);
  }
  return "";
}

bool ProcessWatch::read_memory(MemoryReading& reading) {
  if (status_file_ < 0 || is_gone_) return false;
  const std::string status = status_with_memory();
  if (status.empty()) return false;
  reading = parse_memory(status);
  char text[32];
  const ssize_t digits = charge_file_ < 0 ? 0 : pread(charge_file_, text, sizeof text, 0);
  if (digits > 0) {
    reading.cgroup_charge_bytes = number_at({text, static_cast<std::size_t>(digits)}).value_or(0);
  }
  return true;
}

bool ProcessWatch::read_processor(ProcessorReading& reading) const {
  char text[1024];
  const ssize_t length = stat_file_ < 0 ? -1 : pread(stat_file_, text, sizeof text, 0);
  static const auto tick_ns = 1'000'000'000 / static_cast<std::uint64_t>(std::max(sysconf(_SC_CLK_TCK), 1L));
  if (length <= 0 || !parse_processor({text, static_cast<std::size_t>(length)}, tick_ns, reading)) {
    return false;
  }
  // The sum is known to the nanosecond, and the file divides it in ticks: clock_getcpuclockid() without its
  // check, which fails for a process that has ended.
  const auto clock = static_cast<clockid_t>(~static_cast<unsigned>(process_id_) << 3U | 2U);
  timespec used{};
  if (clock_gettime(clock, &used) != 0) return true;
  const auto cpu_ns =
      static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(used.tv_nsec);
  if (reading.cpu_ns != 0) {
    const double scale = static_cast<double>(cpu_ns) / static_cast<double>(reading.cpu_ns);
    reading.system_ns = static_cast<std::uint64_t>(static_cast<double>(reading.system_ns) * scale);
  }
  reading.cpu_ns = cpu_ns;
  return true;
}

std::string ProcessWatch::command_line() const {
  std::string text = read_file(memory_folder() + "/cmdline");
  while (text.ends_with('\0')) text.pop_back();
  for (char& character : text) {
    if (character == '\0') character = ' ';
  }
  return text;
}

void ProcessWatch::add_code_files(std::set<std::string>& files) const {
  std::istringstream maps(read_file(memory_folder() + "/maps"));
  std::string line;
  while (std::getline(maps, line)) {
    const std::size_t path = line.find('/');
    const std::size_t permissions = line.find(' ');
    if (path == line.npos || permissions == line.npos || line.compare(permissions, 5, " r-xp") != 0) continue;
    files.insert(line.substr(path));
  }
}

}  // namespace heapwright::collect
