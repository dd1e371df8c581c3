// SPDX-License-Identifier: MIT
#include "collect/recording_outputs.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "collect/messages.hpp"
#include "collect/output_stream.hpp"
#include "collect/session_file.hpp"

namespace heapwright::collect {
namespace {

void write_text(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written <= 0) {
      say_error(std::string("cannot write the summary (") + std::strerror(errno) + ")");
      return;
    }
    done += static_cast<std::size_t>(written);
  }
}

}  // namespace

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, HOST_NAME_MAX);
  return name;
}

std::string beside_this_program(const std::string& path) {
  char program[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  std::string folder(program, length > 0 ? static_cast<std::size_t>(length) : 0);
  folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/'));
  return folder + "/" + path;
}

int open_summary(const Options& options) {
  if (options.summary_path.empty()) return -1;
  const int file = open(options.summary_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) {
    throw UsageError("cannot write '" + options.summary_path + "' (" + std::strerror(errno) +
                     "); choose another file with --summary");
  }
  return file;
}

void check_control_file(const Options& options) {
  struct stat status;
  if (options.control_path.empty() || stat(options.control_path.c_str(), &status) != 0) return;
  if (!S_ISREG(status.st_mode)) {
    throw UsageError("--control takes an ordinary file, not '" + options.control_path + "'");
  }
  if (access(options.control_path.c_str(), R_OK) != 0) {
    throw UsageError("cannot read the control file '" + options.control_path + "' (" + std::strerror(errno) +
                     ")");
  }
}

int open_output(const OutputNames& names, const std::string& first_path) {
  if (is_stream(first_path)) return open_stream(first_path);
  const std::string complaint = names.why_not_writable(first_path);
  if (!complaint.empty()) throw UsageError(complaint);
  return -1;
}

void check_stream(const Options& options, OutputNames& names, int stream) {
  if (stream < 0) return;
  const bool takes_one = takes_one_trace(stream);
  if (options.follow_children && takes_one) {
    throw UsageError("--children writes a file for each process, and '" + options.output_pattern +
                     "' takes one; name files with --output %e.%p.heapwright");
  }
  names.write_to_stream(takes_one);
}

rlimit raise_limit(Limit which) {
  rlimit before{};
  if (getrlimit(which, &before) != 0) return {RLIM_INFINITY, RLIM_INFINITY};
  const rlimit raised{before.rlim_max, before.rlim_max};
  setrlimit(which, &raised);
  return before;
}

void publish_report(const Options& options, const Report& report, int summary_file) {
  const Messages messages(options.is_quiet);
  for (const std::string& line : lines_of(report)) messages.say(line);
  messages.suggest(next_command(report));
  if (options.print_json) write_text(STDOUT_FILENO, json_of(report));
  if (summary_file >= 0) {
    write_text(summary_file, json_of(report));
    close(summary_file);
  }
}

void open_kernel_events(const Options& options, pid_t program, const Messages& messages,
                        KernelEvents& kernel_events) {
  if (!options.kernel_events) return;
  if (!options.durations || options.sample_mean_bytes != 0) {
    return kernel_events.leave_out("off: calls are not timed");
  }
  kernel_events.open(program, options.follow_children);
  if (!kernel_events.is_open()) {
    messages.say("note: page faults and waits within calls are not seen: " + kernel_events.state());
  }
}

void report_losses(const KernelEvents& kernel_events, const Messages& messages) {
  if (kernel_events.lost() == 0) return;
  messages.say("note: the kernel dropped at least " + std::to_string(kernel_events.lost()) +
               " of its records of page faults and waits: what slow calls did meanwhile is unknown");
}

void add_processes(Report& report, const StartedProcesses& started, const session::Control& control) {
  report.unrecorded = started.unrecorded();
  report.more_unrecorded = started.more_unrecorded();
  report.starts_lost = control.starts_lost.load();
  report.children_left_alone = control.children_left_alone.load();
}

std::string write_session(const Options& options, const Report& report, const std::string& first_path) {
  if (!options.follow_children || report.files.empty()) return "";
  std::string path = write_session_file(first_path, json_of(report), options.replace_existing);
  if (path.empty()) say_error(std::string("cannot write the session file (") + std::strerror(errno) + ")");
  return path;
}

}  // namespace heapwright::collect
