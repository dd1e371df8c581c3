// SPDX-License-Identifier: MIT
#include "collect/record_process.hpp"

#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "collect/attached_process.hpp"
#include "collect/collector.hpp"
#include "collect/held_program.hpp"
#include "collect/launch.hpp"
#include "collect/messages.hpp"
#include "collect/output_stream.hpp"
#include "collect/recorder_library.hpp"
#include "collect/recording_outputs.hpp"
#include "collect/report.hpp"
#include "collect/session_memory.hpp"
#include "collect/signals.hpp"
#include "collect/tick_clock.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::collect {
namespace {

constexpr int recorder_lost_code = 1;

const char attached_note[] =
    "attached while it ran: earlier blocks are unknown; child processes are not recorded";
const char with_children_note[] = "attached while it ran: earlier blocks are unknown";
const char patched_note[] =
    "recorded from its first instruction on: what its libraries allocated before is unknown; child processes "
    "are not recorded";
const char whole_note[] = "recorded from its first instruction on; child processes are not recorded";
const char without_mappings_note[] = "mmap calls are not recorded";
const char killed_text[] = "heapwright-attach was killed; run the same command again to repair the process";

std::string program_of(std::int32_t process) {
  char path[PATH_MAX];
  const ssize_t length = readlink((tracee::memory_folder(process) + "/exe").c_str(), path, sizeof path - 1);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "process";
}

std::string milliseconds(std::uint64_t time_ns) {
  const std::uint64_t hundredths = time_ns / 10'000;
  const std::string digits = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + "." + (digits.size() == 1 ? "0" : "") + digits + " ms";
}

void announce_begin(const AttachedProcess& attached, const Options& options, const Messages& messages) {
  if (options.patches) return;
  const std::string threads =
      attached.threads() == 1 ? "its thread" : "its " + std::to_string(attached.threads()) + " threads";
  messages.say("recording process " + std::to_string(options.process) +
               (options.duration_ns == 0 ? " until Ctrl-C; " : "; ") + threads + " stopped for " +
               milliseconds(attached.stopped_ns()));
}

// Where the recording goes, opened before anything is touched, or let go from its entry.
struct Outputs {
  Outputs(const Options& options, const std::string& program, int standard_stream)
      : names(options.output_pattern, host_name(), options.replace_existing),
        library(options.follow_children ? find_library(options) : ""),
        stream(standard_stream) {
    first_path = names.expand(static_cast<std::uint64_t>(options.process), program);
    if (stream < 0) stream = open_output(names, first_path);
    check_stream(options, names, stream);
    summary_file = open_summary(options);
  }

  OutputNames names;
  std::string library;  // the recorder, for images of children; empty: there are none
  std::string first_path;
  int stream;
  int summary_file = -1;
};

int take_output_if_standard(const Options& options) {
  return options.output_pattern == standard_output ? take_standard_output() : -1;
}

// What the trace says of how it was made.
const char* note_of(const Options& options) {
  if (options.is_whole_run) return whole_note;
  if (options.patches) return patched_note;
  return options.follow_children ? with_children_note : attached_note;
}

// A process's clock, and the kernel's records on it.
struct Kernel {
  TickClock clock;
  KernelEvents events{clock};
};

RecordingContext context_of(const Options& options, Kernel& kernel, int stream,
                            const AttachedProcess& attached) {
  RecordingContext context{
      options, kernel.clock, host_name(),   static_cast<std::uint32_t>(options.process), {}, {}, {},
      {},      stream,       &kernel.events};
  context.notes.emplace_back(note_of(options));
  if (!attached.has("mmap")) context.notes.emplace_back(without_mappings_note);
  context.unseen = attached.unseen();
  context.beside = attached.beside();
  return context;
}

bool has_lost_its_recorder(const Report& report) {
  return std::any_of(report.files.begin(), report.files.end(), [](const FileSummary& file) {
    return file.end.reason == trace::EndReason::recorder_lost;
  });
}

// Beside its trace is the file that lists all of them.
std::string path_of_attached(const Options& options, const Report& report, const Outputs& outputs) {
  const auto id = static_cast<std::uint64_t>(options.process);
  const auto own = std::find_if(report.files.begin(), report.files.end(),
                                [id](const FileSummary& file) { return file.process_id == id; });
  return own == report.files.end() ? outputs.first_path : own->path;
}

// Records options.process to its end, or to the recording's. held: it waits there to be let go.
Report record(const Options& options, Outputs& outputs, AttachedProcess& attached, Kernel& kernel,
              HeldProgram* held) {
  TickClock& clock = kernel.clock;
  const Messages messages(options.is_quiet);
  raise_limit(RLIMIT_NOFILE);
  raise_limit(RLIMIT_AS);
  const int session_file = attached.open_session();
  if (session_file < 0) {
    throw UsageError(std::string("cannot open the memory of process ") + std::to_string(options.process) +
                     " (" + std::strerror(errno) + "); it goes on as before");
  }
  SessionMemory session(session_file);
  session.control().next_process_hint.store(1);
  clock.calibrate();
  Collector collector(options, clock, session, outputs.names, outputs.library,
                      context_of(options, kernel, outputs.stream, attached));
  if (options.follow_children) attached.hand_on(outputs.library, session.text());
  collector.begin_attached(attached);
  announce_begin(attached, options, messages);
  if (held != nullptr) held->let_go();
  collector.run_to_end();
  attached.detach();
  report_losses(kernel.events, messages);

  Report report;
  report.files = collector.files();
  report.clock_is_tsc = clock.is_tsc();
  report.clock_error_ppm = clock.error_ppm();
  report.clock_drift_ppm = clock.drift_ppm();
  report.start_unix_ns = clock.start_unix_ns();
  report.attached = attached.attached();
  report.detached = attached.detached();
  if (!options.follow_children) return report;
  add_processes(report, collector.started(), session.control());
  if (outputs.stream < 0) {
    report.session_path = write_session(options, report, path_of_attached(options, report, outputs));
  }
  return report;
}

}  // namespace

int record_process(const Options& options) {
  const std::string program = program_of(options.process);
  check_control_file(options);
  Outputs outputs(options, program, take_output_if_standard(options));
  watch_signals(0);
  AttachedProcess attached(attacher_of(options), options, false);
  if (!attached.is_attached()) {
    if (attached.was_killed()) say_error(killed_text);
    return not_recorded_code;
  }
  Kernel kernel;
  open_kernel_events(options, options.process, Messages(options.is_quiet), kernel.events);
  Report report = record(options, outputs, attached, kernel, nullptr);
  report.program = program;
  publish_report(options, report, outputs.summary_file);
  return has_lost_its_recorder(report) ? recorder_lost_code : 0;
}

std::optional<int> record_patched(const Options& options, const ProgramCheck& check) {
  check_control_file(options);
  const int standard_stream = take_output_if_standard(options);
  Launch launch(check.path, check.arguments, "");
  Options attached_options = options;
  attached_options.process = launch.process_id();
  watch_signals(launch.process_id());
  Kernel kernel;
  open_kernel_events(options, launch.process_id(), Messages(options.is_quiet), kernel.events);
  const int error_number = launch.let_go("held");
  if (error_number != 0) {
    throw UsageError("cannot start '" + options.command[0] + "': " + std::strerror(error_number));
  }
  HeldProgram held(launch.process_id());
  AttachedProcess attached(attacher_of(options), attached_options, true);
  if (!attached.is_attached()) return std::nullopt;
  // A library that is loaded before calls what has the name malloc, and no allocator inside.
  const bool is_whole_at_entry = check.is_static || (!check.defines_malloc && attached.beside().empty());
  attached_options.is_whole_run = held.is_before_constructors() || is_whole_at_entry;
  Outputs outputs(attached_options, check.path, standard_stream);
  Report report = record(attached_options, outputs, attached, kernel, &held);
  report.program = check.path;
  report.exit_code = exit_code_of(wait_for_end(launch.process_id()));
  stop_forwarding();
  publish_report(options, report, outputs.summary_file);
  return report.exit_code;
}

}  // namespace heapwright::collect
