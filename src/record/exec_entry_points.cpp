// SPDX-License-Identifier: MIT
// exec in the recorded process itself: `env X=1 prog`, or a wrapper script that ends in exec. The new program
// is the one that the user asked to record, so the variables that the recorder removed from the environment
// at load are put back for the exec. The environment of children stays clean unless they are followed
// (--children); then every exec in the process tree gets the variables. Each exec is reported to the
// collector, which names the images that then start without the recorder.
#include "record/exec_entry_points.hpp"

#include <atomic>
#include <cstdarg>
#include <cstring>

#include "platform/raw_syscall.hpp"
#include "record/environment.hpp"
#include "record/observe.hpp"
#include "record/start_notes.hpp"

extern char** environ;

namespace heapwright::record {
namespace {

using Exec = int(const char*, char* const[], char* const[]);

struct RealExecs {
  Exec* path;                                      // execve
  Exec* search;                                    // execvpe
  int (*file)(int, char* const[], char* const[]);  // fexecve
};
constinit RealExecs real_execs{};

bool is_recorded_process() noexcept {
  return wiped_on_fork.mode.load(std::memory_order_acquire) == Mode::active &&
         static_cast<std::uint32_t>(own_process_id()) == process.block->process_id;
}

// Without follow_children, only the process that was linked passes its recording on. A vfork child runs in
// its parent's memory; it is counted at its first exec call (a path search may make several).
bool hands_recording_on() noexcept {
  const session::Control* control = noted_session();
  if (control == nullptr) return false;
  // A confined process cannot tell itself from a vfork child of its own, which is then recorded, too.
  if (is_recorded_process()) return true;
  if (is_confined()) return false;  // a fork child, which was named when it began
  if ((control->flags & session::follow_children) != 0) return true;
  static constinit std::atomic<long> last_counted{0};
  const long process_id = own_process_id();
  const bool is_vfork_child = wiped_on_fork.mode.load(std::memory_order_acquire) == Mode::active;
  if (is_vfork_child && last_counted.exchange(process_id) != process_id) count_child_left_alone();
  return false;
}

// `call` takes the environment.
template <typename Call>
int exec_recorded(const char* file, char* const* environment, Call call) noexcept {
  if (!hands_recording_on()) return call(environment);
  const ExtendedEnvironment extended(environment, images_like_this());
  char* room[extended.pointers()];
  char text[extended.bytes()];
  publish_note(begin_note(session::start_exec, file == nullptr ? "" : file), own_process_id());
  const int result = call(extended.write(room, text));
  report_exec_failed();
  return result;
}

int exec_path(const char* path, char* const* arguments, char* const* environment) noexcept {
  if (real_execs.path == nullptr) find_real_execs();
  return exec_recorded(path, environment,
                       [=](char* const* extended) { return real_execs.path(path, arguments, extended); });
}

int exec_search(const char* file, char* const* arguments, char* const* environment) noexcept {
  if (real_execs.search == nullptr) find_real_execs();
  return exec_recorded(file, environment,
                       [=](char* const* extended) { return real_execs.search(file, arguments, extended); });
}

}  // namespace

HEAPWRIGHT_HOOK int fexecve(int file, char* const arguments[], char* const environment[]) noexcept {
  if (real_execs.file == nullptr) find_real_execs();
  char link[32] = "/proc/self/fd/";
  std::size_t length = std::strlen(link);
  for (int scale = 1'000'000'000; scale > 0; scale /= 10) {
    if (file >= scale || scale == 1) link[length++] = static_cast<char>('0' + file / scale % 10);
  }
  char path[sizeof session::StartEntry::program] = "";
  const long bytes = platform::read_link(link, path, sizeof path - 1);
  path[bytes > 0 ? bytes : 0] = '\0';
  return exec_recorded(path, environment,
                       [=](char* const* extended) { return real_execs.file(file, arguments, extended); });
}

HEAPWRIGHT_HOOK int execve(const char* path, char* const arguments[], char* const environment[]) noexcept {
  return exec_path(path, arguments, environment);
}

HEAPWRIGHT_HOOK int execv(const char* path, char* const arguments[]) noexcept {
  return exec_path(path, arguments, environ);
}

HEAPWRIGHT_HOOK int execvp(const char* file, char* const arguments[]) noexcept {
  return exec_search(file, arguments, environ);
}

HEAPWRIGHT_HOOK int execvpe(const char* file, char* const arguments[], char* const environment[]) noexcept {
  return exec_search(file, arguments, environment);
}

// The list forms: counts the arguments before the null pointer.
#define HEAPWRIGHT_COLLECT(list)                                     \
  std::va_list list##_counted;                                       \
  va_start(list##_counted, first);                                   \
  std::size_t list##_count = first == nullptr ? 0 : 1;               \
  if (first != nullptr) {                                            \
    while (va_arg(list##_counted, char*) != nullptr) ++list##_count; \
  }                                                                  \
  va_end(list##_counted);                                            \
  char* list[list##_count + 1];                                      \
  std::va_list list##_read;                                          \
  va_start(list##_read, first);                                      \
  list[0] = const_cast<char*>(first);                                \
  for (std::size_t i = 1; i <= list##_count; ++i) list[i] = va_arg(list##_read, char*)

HEAPWRIGHT_HOOK int execl(const char* path, const char* first, ...) noexcept {
  HEAPWRIGHT_COLLECT(arguments);
  va_end(arguments_read);
  return exec_path(path, arguments, environ);
}

HEAPWRIGHT_HOOK int execlp(const char* file, const char* first, ...) noexcept {
  HEAPWRIGHT_COLLECT(arguments);
  va_end(arguments_read);
  return exec_search(file, arguments, environ);
}

HEAPWRIGHT_HOOK int execle(const char* path, const char* first, ...) noexcept {
  HEAPWRIGHT_COLLECT(arguments);
  char* const* environment = va_arg(arguments_read, char* const*);
  va_end(arguments_read);
  return exec_path(path, arguments, environment);
}

void find_real_execs() noexcept {
  real_execs = {find_next<Exec>("execve"), find_next<Exec>("execvpe"),
                find_next<int(int, char* const[], char* const[])>("fexecve")};
}

}  // namespace heapwright::record
