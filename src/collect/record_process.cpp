// SPDX-License-Identifier: MIT
#include "collect/record_process.hpp"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "collect/attached_process.hpp"
#include "collect/collector.hpp"
#include "collect/messages.hpp"
#include "collect/output_stream.hpp"
#include "collect/recording_outputs.hpp"
#include "collect/report.hpp"
#include "collect/session_memory.hpp"
#include "collect/signals.hpp"
#include "collect/tick_clock.hpp"

namespace heapwright::collect {
namespace {

constexpr int not_recorded_code = 2;
constexpr int recorder_lost_code = 1;

const char killed_text[] = "heapwright-attach was killed; run the same command again to repair the process";

std::string program_of(std::int32_t process) {
  char path[PATH_MAX];
  const ssize_t length =
      readlink(("/proc/" + std::to_string(process) + "/exe").c_str(), path, sizeof path - 1);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "process";
}

std::string milliseconds(std::uint64_t time_ns) {
  const std::uint64_t hundredths = time_ns / 10'000;
  const std::string digits = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + "." + (digits.size() == 1 ? "0" : "") + digits + " ms";
}

void announce_begin(const AttachedProcess& attached, const Options& options, const Messages& messages) {
  const std::string threads =
      attached.threads() == 1 ? "its thread" : "its " + std::to_string(attached.threads()) + " threads";
  messages.say("recording process " + std::to_string(options.process) +
               (options.duration_ns == 0 ? " until Ctrl-C; " : "; ") + threads + " stopped for " +
               milliseconds(attached.stopped_ns()));
}

RecordingContext context_of(const Options& options, const TickClock& clock, int stream,
                            const AttachedProcess& attached) {
  RecordingContext context{options, clock, host_name(), static_cast<std::uint32_t>(options.process), {}, {},
                           {},      {},    stream};
  context.notes.emplace_back(
      "attached while it ran: earlier blocks are unknown; mmap calls and child processes are not recorded");
  context.unseen = attached.unseen();
  return context;
}

}  // namespace

int record_process(const Options& options) {
  TickClock clock;
  const std::string program = program_of(options.process);
  check_control_file(options);
  OutputNames names(options.output_pattern, host_name(), options.replace_existing);
  int stream = options.output_pattern == standard_output ? take_standard_output() : -1;
  const std::string first_path = names.expand(static_cast<std::uint64_t>(options.process), program);
  if (stream < 0) stream = open_output(names, first_path);
  check_stream(options, names, stream);
  const int summary_file = open_summary(options);
  const Messages messages(options.is_quiet);
  watch_signals(0);

  AttachedProcess attached(
      options.attacher_path.empty() ? beside_this_program("heapwright-attach") : options.attacher_path,
      options.process, options.despite_seccomp);
  if (!attached.is_attached()) {
    if (attached.was_killed()) say_error(killed_text);
    return not_recorded_code;
  }
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
  Collector collector(options, clock, session, names, "", context_of(options, clock, stream, attached));
  collector.begin_attached(attached);
  announce_begin(attached, options, messages);
  collector.run_to_end();
  attached.detach();

  Report report;
  report.program = program;
  report.files = collector.files();
  report.clock_is_tsc = clock.is_tsc();
  report.clock_error_ppm = clock.error_ppm();
  report.clock_drift_ppm = clock.drift_ppm();
  report.start_unix_ns = clock.start_unix_ns();
  report.attached = attached.attached();
  report.detached = attached.detached();
  publish_report(options, report, summary_file);
  const bool is_lost = std::any_of(report.files.begin(), report.files.end(), [](const FileSummary& file) {
    return file.end.reason == trace::EndReason::recorder_lost;
  });
  return is_lost ? recorder_lost_code : 0;
}

}  // namespace heapwright::collect
