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
#include <optional>
#include <utility>

#include "collect/collector.hpp"
#include "collect/launch.hpp"
#include "collect/output_stream.hpp"
#include "collect/program_check.hpp"
#include "collect/record_process.hpp"
#include "collect/recorder_library.hpp"
#include "collect/recording_outputs.hpp"
#include "collect/report.hpp"
#include "collect/signals.hpp"

namespace heapwright::collect {
namespace {

// As LD_PRELOAD has it.
std::string with_library_behind(const Options& options, const std::string& library) {
  if (options.behind_path.empty()) return library;
  return library + ":" + absolute_library("the library", options.behind_path, "--behind");
}

// The file size limit is meant for traces, but would also apply to the session's sparse file.
std::unique_ptr<SessionMemory> make_session() {
  const rlimit before = raise_limit(RLIMIT_FSIZE);
  auto session = std::make_unique<SessionMemory>();
  setrlimit(RLIMIT_FSIZE, &before);
  return session;
}

void tell_of_program(const Options& options, const ProgramCheck& check, const Messages& messages) {
  for (const std::string& note : check.notes) messages.say("note: " + note);
  if (check.is_starter && !options.follow_children) {
    messages.say("note: '" + options.command[0] + "' is run by " + check.executable +
                 ", which starts other programs; they are recorded only with --children");
  }
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

// Nothing: it is to be recorded as other programs are. It has not run.
std::optional<int> try_to_patch(const Options& options, const ProgramCheck& check) {
  const Messages messages(options.is_quiet);
  try {
    if (const std::optional<int> code = record_patched(with_patches(options), check)) return code;
  } catch (const NotAttached& refusal) {
    messages.say(std::string("note: ") + refusal.what());
  }
  messages.say("note: so only its calls of the C library's malloc and free are recorded");
  return std::nullopt;
}

int record_preloaded(const Options& options, const ProgramCheck& check) {
  TickClock clock;
  const std::string library = find_library(options);
  check_control_file(options);
  OutputNames names(options.output_pattern, host_name(), options.replace_existing);

  int stream = options.output_pattern == standard_output ? take_standard_output() : -1;
  // The child is forked before the collector changes its own limits and signals, which the program would
  // inherit.
  Launch launch(check.path, check.arguments, with_library_behind(options, library));
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
  add_processes(report, collector.started(), session->control());
  if (stream < 0) report.session_path = write_session(options, report, first_path);
  report_losses(kernel_events, messages);
  publish_report(options, report, summary_file);
  return report.exit_code;
}

}  // namespace

int record_program(const Options& options) {
  const char* search_path = getenv("PATH");
  const ProgramCheck check =
      check_program(options.command, search_path != nullptr ? search_path : "/usr/bin:/bin",
                    options.patches ? Way::patched : Way::preloaded);
  // No library can be preloaded into it.
  if (check.is_static && !options.patches && can_be_patched(options)) {
    return record_program(with_patches(options));
  }
  if (!check.refusal.empty()) throw UsageError(check.refusal);
  if (options.patches) return record_patched(options, check).value_or(not_recorded_code);
  if (check.has_inner_allocator && can_be_patched(options) && options.output_pattern != standard_output) {
    if (const std::optional<int> code = try_to_patch(options, check)) return *code;
  }
  return record_preloaded(options, check);
}

}  // namespace heapwright::collect
