// SPDX-License-Identifier: MIT
#include "attach/options.hpp"

#include <charconv>

namespace heapwright::attach {

const char help_text[] =
    R"(Counts the heap calls of a running process, until standard input ends.

  heapwright-attach [--record [--children]] [--inside] [--despite-seccomp] PID

  --record            let heapwright-collect record them instead
  --inside            those of the allocator that is linked into the executable
  --held              without --record: it is held at its start, and has called nothing yet
  --keeper PID        without --record: the process that reads the counters at the end
  --children          with --record: and those of its children; standard input may
                      name what other images need: images, the recorder's path and
                      the session, with tabs between them
  --despite-seccomp   attach even if the process has a seccomp filter
  --version, --help

Prints a line of JSON when it has attached and one when it has detached. The
counters are in /dev/shm/heapwright-PID.calls, which remains for the caller.
heapwright count --pid PID and heapwright record --pid PID do all of this.
)";

namespace {

pid_t parse_process(const std::string& text) {
  pid_t process = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, process);
  if (error != std::errc{} || stop != end || process <= 0) {
    throw UsageError("'" + text + "' is not a process id; see heapwright-attach --help");
  }
  return process;
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (auto next = arguments.begin(); next != arguments.end(); ++next) {
    const std::string& argument = *next;
    if (argument == "--keeper") {
      if (++next == arguments.end()) throw UsageError("--keeper needs a process id");
      options.keeper = parse_process(*next);
    } else if (argument == "--held") {
      options.is_held = true;
    } else if (argument == "--despite-seccomp") {
      options.is_forced = true;
    } else if (argument == "--record") {
      options.is_recording = true;
    } else if (argument == "--inside") {
      options.is_inside = true;
    } else if (argument == "--children") {
      options.with_children = true;
    } else if (argument == "--help") {
      options.show_help = true;
    } else if (argument == "--version") {
      options.show_version = true;
    } else if (options.process != 0) {
      throw UsageError("name only one process");
    } else {
      options.process = parse_process(argument);
    }
  }
  if (options.is_recording && (options.is_held || options.keeper != 0)) {
    throw UsageError("--held and --keeper are for counting: leave out --record");
  }
  if (options.with_children && !options.is_recording) throw UsageError("--children needs --record");
  if (options.process == 0 && !options.show_help && !options.show_version) {
    throw UsageError("name a process: heapwright-attach PID");
  }
  return options;
}

}  // namespace heapwright::attach
