// SPDX-License-Identifier: MIT
#include "collect/record_program.hpp"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "collect/collector.hpp"
#include "collect/launch.hpp"
#include "collect/output_stream.hpp"
#include "collect/program_check.hpp"
#include "collect/report.hpp"
#include "collect/session_file.hpp"
#include "collect/signals.hpp"

namespace heapwright::collect {
namespace {

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, HOST_NAME_MAX);
  return name;
}

std::string library_beside_this_program() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  std::string folder(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/'));
  return folder + "/../lib/libheapwright-record.so";
}

// Absolute, since the program may change its folder before it starts others.
std::string find_library(const Options& options) {
  const std::string given =
      options.library_path.empty() ? library_beside_this_program() : options.library_path;
  char* real_path = realpath(given.c_str(), nullptr);
  std::string path = real_path != nullptr ? real_path : "";
  free(real_path);
  if (path.empty() || access(path.c_str(), R_OK) != 0) {
    throw UsageError("the recorder '" + given + "' cannot be read (" + std::strerror(errno) +
                     "); build it or name it with --library");
  }
  if (path.find_first_of(": \t") != std::string::npos) {
    throw UsageError(
        "the recorder's path '" + path +
        "' holds a blank or a colon, which LD_PRELOAD cannot; copy it elsewhere and name it with --library");
  }
  return path;
}

// Opened before the program starts, so that a typing error costs nothing.
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

// A descriptor when the first path is a stream; -1 when it is a file that can be written.
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

using Limit = decltype(RLIMIT_NOFILE);

rlimit raise_limit(Limit which) {
  rlimit before{};
  if (getrlimit(which, &before) != 0) return {RLIM_INFINITY, RLIM_INFINITY};
  const rlimit raised{before.rlim_max, before.rlim_max};
  setrlimit(which, &raised);
  return before;
}

// The limit on the size of files is meant for traces; the session's sparse
// file would fall under it as well.
std::unique_ptr<SessionMemory> make_session() {
  const rlimit before = raise_limit(RLIMIT_FSIZE);
  auto session = std::make_unique<SessionMemory>();
  setrlimit(RLIMIT_FSIZE, &before);
  return session;
}

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

void tell(const Options& options, const Report& report, int summary_file) {
  const Messages messages(options.is_quiet);
  for (const std::string& line : lines_of(report)) messages.say(line);
  messages.suggest(next_command(report));
  if (options.print_json) write_text(STDOUT_FILENO, json_of(report));
  if (summary_file >= 0) {
    write_text(summary_file, json_of(report));
    close(summary_file);
  }
}

// What is known of processes without a trace.
void add_processes(Report& report, const Options& options, const Collector& collector,
                   const session::Control& control) {
  report.follows_children = options.follow_children;
  report.unrecorded = collector.started().unrecorded();
  report.more_unrecorded = collector.started().more_unrecorded();
  report.starts_lost = control.starts_lost.load();
  report.children_left_alone = control.children_left_alone.load();
}

// What the kernel tells is told of calls that are timed.
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

void tell_of_program(const Options& options, const ProgramCheck& check, const Messages& messages) {
  for (const std::string& note : check.notes) messages.say("note: " + note);
  if (check.is_starter && !options.follow_children) {
    messages.say("note: '" + options.command[0] + "' is run by " + check.executable +
                 ", which starts other programs; they are recorded only with --children");
  }
}

void tell_of_losses(const KernelEvents& kernel_events, const Messages& messages) {
  if (kernel_events.lost() == 0) return;
  messages.say("note: the kernel dropped at least " + std::to_string(kernel_events.lost()) +
               " of its records of page faults and waits: what slow calls did meanwhile is unknown");
}

// The session file's path; "" when none is wanted or it cannot be written.
std::string write_session(const Options& options, const Report& report, const std::string& first_path) {
  if (!options.follow_children || report.files.empty()) return "";
  std::string path = write_session_file(first_path, json_of(report), options.replace_existing);
  if (path.empty()) say_error(std::string("cannot write the session file (") + std::strerror(errno) + ")");
  return path;
}

Report report_of(const ProgramCheck& check, const Collector& collector, const TickClock& clock) {
  Report report;
  report.program = check.path;
  report.files = collector.files();
  report.notes = check.notes;
  report.clock_is_tsc = clock.is_tsc();
  report.clock_error_ppm = clock.error_ppm();
  report.clock_drift_ppm = clock.drift_ppm();
  report.start_unix_ns = clock.start_unix_ns();
  return report;
}

}  // namespace

int record_program(const Options& options) {
  TickClock clock;
  const char* search_path = getenv("PATH");
  ProgramCheck check = check_program(options.command, search_path != nullptr ? search_path : "/usr/bin:/bin");
  if (!check.refusal.empty()) throw UsageError(check.refusal);
  const std::string library = find_library(options);
  check_control_file(options);
  OutputNames names(options.output_pattern, host_name(), options.replace_existing);

  int stream = options.output_pattern == standard_output ? take_standard_output() : -1;
  // The child is forked before the collector changes any of its own limits
  // and signals, which the program would inherit.
  Launch launch(check.path, check.arguments, library);
  const std::string first_path = names.expand(static_cast<std::uint64_t>(launch.process_id()), check.path);
  if (stream < 0) stream = open_output(names, first_path);
  check_stream(options, names, stream);
  const int summary_file = open_summary(options);
  const Messages messages(options.is_quiet);
  tell_of_program(options, check, messages);

  watch_signals(launch.process_id());
  raise_limit(RLIMIT_NOFILE);
  raise_limit(RLIMIT_AS);
  const std::unique_ptr<SessionMemory> session = make_session();
  clock.calibrate();
  KernelEvents kernel_events(clock);
  open_kernel_events(options, launch.process_id(), messages, kernel_events);
  Collector collector(options, clock, *session, names, library,
                      RecordingContext{options,
                                       clock,
                                       host_name(),
                                       static_cast<std::uint32_t>(launch.process_id()),
                                       {},
                                       {},
                                       {},
                                       {},
                                       stream,
                                       &kernel_events});
  const int error_number = launch.let_go(session->text());
  if (error_number != 0) {
    throw UsageError("cannot start '" + options.command[0] + "': " + std::strerror(error_number));
  }

  const int exit_code = exit_code_of(collector.run(launch.process_id()));
  Report report = report_of(check, collector, clock);
  report.exit_code = exit_code;
  add_processes(report, options, collector, session->control());
  if (stream < 0) report.session_path = write_session(options, report, first_path);
  tell_of_losses(kernel_events, messages);
  tell(options, report, summary_file);
  return report.exit_code;
}

}  // namespace heapwright::collect
