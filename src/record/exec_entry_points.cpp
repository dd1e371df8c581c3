// SPDX-License-Identifier: MIT
// exec in the recorded process itself: `env X=1 prog`, a wrapper script that
// ends in exec. The program that takes over is still the one the user asked
// to record, so the variables that the recorder took out of the environment
// at load go back into what exec is given. Children are another matter
// (--children): their process differs, and theirs stays clean.
#include <dlfcn.h>

#include <cstdarg>
#include <cstring>

#include "platform/raw_syscall.hpp"
#include "record/observe.hpp"

extern char** environ;

namespace heapwright::record {
namespace {

constexpr char preload_name[] = "LD_PRELOAD=";
constexpr std::size_t preload_name_length = sizeof preload_name - 1;

using Exec = int(const char*, char* const[], char* const[]);

template <typename Function>
Function* next_function(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// A vfork child runs in its parent's memory, a fork child in a copy of it;
// only the process that was linked may hand its recording on.
bool is_recorded_process() noexcept {
  return wiped_on_fork.mode.load(std::memory_order_acquire) == Mode::active &&
         static_cast<std::uint32_t>(platform::raw_syscall(SYS_getpid)) == process.block->process_id;
}

std::size_t count_of(char* const* list) noexcept {
  std::size_t count = 0;
  while (list != nullptr && list[count] != nullptr) ++count;
  return count;
}

bool begins_with(const char* text, const char* prefix, std::size_t length) noexcept {
  return std::strncmp(text, prefix, length) == 0;
}

// "LD_PRELOAD=<this library>[:<what was there>]"
void write_preload(char* to, const char* library, const char* old_value) noexcept {
  std::memcpy(to, preload_name, preload_name_length);
  to += preload_name_length;
  const std::size_t library_length = std::strlen(library);
  std::memcpy(to, library, library_length);
  to += library_length;
  if (old_value != nullptr && old_value[0] != '\0') {
    *to++ = ':';
    std::memcpy(to, old_value, std::strlen(old_value) + 1);
  } else {
    *to = '\0';
  }
}

const char* preload_in(char* const* environment) noexcept {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (begins_with(*environment, preload_name, preload_name_length))
      return *environment + preload_name_length;
  }
  return nullptr;
}

// Fills `to` (room for two more than `from`) with from's variables and ours.
void add_recording(char** to, char* const* from, char* preload, char* session) noexcept {
  for (; from != nullptr && *from != nullptr; ++from) {
    const bool is_replaced =
        begins_with(*from, preload_name, preload_name_length) ||
        begins_with(*from, session::session_variable, sizeof session::session_variable - 1);
    if (!is_replaced) *to++ = *from;
  }
  *to++ = preload;
  *to++ = session;
  *to = nullptr;
}

int exec_recorded(Exec* next, const char* file, char* const* arguments, char* const* environment) noexcept {
  Dl_info self;
  const char* old_preload = preload_in(environment);
  const bool is_there =
      old_preload != nullptr && std::strstr(old_preload, "libheapwright-record.so") != nullptr;
  if (is_there || !is_recorded_process() || dladdr(reinterpret_cast<void*>(&exec_recorded), &self) == 0) {
    return next(file, arguments, environment);
  }
  const std::size_t old_length = old_preload == nullptr ? 0 : std::strlen(old_preload);
  char preload[preload_name_length + std::strlen(self.dli_fname) + old_length + 2];
  write_preload(preload, self.dli_fname, old_preload);
  char session[sizeof session::session_variable + 1 + session_path_bytes];
  std::memcpy(session, session::session_variable, sizeof session::session_variable - 1);
  session[sizeof session::session_variable - 1] = '=';
  std::memcpy(session + sizeof session::session_variable, session_path(), std::strlen(session_path()) + 1);
  char* extended[count_of(environment) + 3];
  add_recording(extended, environment, preload, session);
  return next(file, arguments, extended);
}

int exec_path(const char* path, char* const* arguments, char* const* environment) noexcept {
  static constinit Exec* next = nullptr;
  if (next == nullptr) next = next_function<Exec>("execve");
  return exec_recorded(next, path, arguments, environment);
}

int exec_search(const char* file, char* const* arguments, char* const* environment) noexcept {
  static constinit Exec* next = nullptr;
  if (next == nullptr) next = next_function<Exec>("execvpe");
  return exec_recorded(next, file, arguments, environment);
}

}  // namespace

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

// The list forms: as many arguments as there are before the null pointer.
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

}  // namespace heapwright::record
