// SPDX-License-Identifier: MIT
#include "collect/count_program.hpp"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "collect/attached_process.hpp"
#include "collect/held_program.hpp"
#include "collect/later_preload.hpp"
#include "collect/launch.hpp"
#include "collect/messages.hpp"
#include "collect/program_check.hpp"
#include "collect/recorder_library.hpp"
#include "collect/signals.hpp"

namespace heapwright::collect {
namespace {

// What the program would inherit of this process, which it does not change for its own ends.
class SignalsBefore {
 public:
  SignalsBefore() {
    sigprocmask(SIG_SETMASK, nullptr, &mask_);
    for (std::size_t index = 0; index < ignored.size(); ++index) {
      sigaction(ignored[index], nullptr, &actions_[index]);
    }
  }
  void restore() const {
    for (std::size_t index = 0; index < ignored.size(); ++index) {
      sigaction(ignored[index], &actions_[index], nullptr);
    }
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  static constexpr std::array<int, 2> ignored{SIGPIPE, SIGXFSZ};  // exec resets the others of watch_signals()

  sigset_t mask_{};
  std::array<struct sigaction, ignored.size()> actions_{};
};

ProgramCheck check(const Options& options) {
  const char* const search_path = getenv("PATH");
  return check_program(options.command, search_path != nullptr ? search_path : "/usr/bin:/bin", Way::patched);
}

// Nothing: it could not be attached to, which heapwright-attach explained; it was ended there.
std::optional<int> count_patched(const Options& options, const ProgramCheck& program) {
  Launch launch(program.path, program.arguments, "");
  watch_signals(launch.process_id());
  const int error_number = launch.let_go("held");
  if (error_number != 0) {
    throw UsageError("cannot start '" + options.command[0] + "': " + std::strerror(error_number));
  }
  HeldProgram held(launch.process_id());
  Options attached_options = options;
  attached_options.process = launch.process_id();
  AttachedProcess attached(attacher_of(options), attached_options, true);
  if (!attached.is_attached()) return std::nullopt;
  for (const std::string& note : attached.unseen()) say_error("note: " + note);
  if (!begin_later_preload(launch.process_id())) say_error("note: programs that it executes are not counted");
  held.let_go();
  const int code = exit_code_of(wait_for_end(launch.process_id()));
  stop_forwarding();
  attached.detach();
  return code;
}

// As if this process had not been in between.
[[noreturn]] void execute_preloaded(const Options& options, const ProgramCheck& program,
                                    const SignalsBefore& signals) {
  signals.restore();
  begin_preload_here();
  std::vector<std::string> words = program.arguments;
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program.path.c_str(), arguments.data());
  throw UsageError("cannot start '" + options.command[0] + "': " + std::strerror(errno));
}

}  // namespace

int report_inside(const Options& options) {
  const ProgramCheck program = check(options);
  return program.refusal.empty() && (program.is_static || program.has_inner_allocator) ? 0 : 1;
}

int count_program(const Options& options) {
  const ProgramCheck program = check(options);
  if (!program.refusal.empty()) throw UsageError(program.refusal);
  prepare_later_preload(absolute_library("the library", options.library_path, "--library"));
  const SignalsBefore signals;
  try {
    if (const std::optional<int> code = count_patched(options, program)) return *code;
  } catch (const NotAttached& refusal) {
    say_error(std::string("note: ") + refusal.what());
  }
  if (!program.is_static) say_error("note: so only its calls of the C library's malloc and free are counted");
  execute_preloaded(options, program, signals);
}

}  // namespace heapwright::collect
