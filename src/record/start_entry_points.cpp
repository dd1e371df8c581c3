// SPDX-License-Identifier: MIT
// The functions that start processes. The hooks only forward, and leave a note for the collector, so that it
// knows a child before the child can outlive its parent. vfork returns twice into its caller and cannot be
// hooked: its child is noted at its exec.
#include "record/start_entry_points.hpp"

#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

#include "platform/raw_syscall.hpp"
#include "record/environment.hpp"
#include "record/exec_entry_points.hpp"
#include "record/lane.hpp"
#include "record/observe.hpp"
#include "record/start_notes.hpp"

struct termios;
struct winsize;

namespace heapwright::record {
namespace {

struct RealStarts {
  pid_t (*fork)();
  pid_t (*fork_plain)();  // _Fork
  int (*daemon)(int, int);
  pid_t (*forkpty)(int*, char*, const termios*, const winsize*);
  int (*clone)(int (*)(void*), void*, int, void*, ...);
  int (*posix_spawn)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                     char* const*, char* const*);
  int (*posix_spawnp)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                      char* const*, char* const*);
  int (*system)(const char*);
  FILE* (*popen)(const char*, const char*);
};
constinit RealStarts real_starts{};

template <typename Function>
bool find(Function*& function, const char* name) noexcept {
  if (function == nullptr) function = find_next<Function>(name);
  if (function == nullptr) errno = ENOSYS;
  return function != nullptr;
}

bool follows() noexcept {
  const session::Control* control = noted_session();
  return control != nullptr && (control->flags & session::follow_children) != 0;
}

StartNote begin_fork() noexcept {
  is_confined();  // the child inherits what is known
  if (follows()) return begin_note(session::start_forked);
  return {};
}

// Called in parent and child, with the result of fork in each.
pid_t end_fork(const StartNote& note, pid_t result) noexcept {
  if (result < 0) {
    drop_note(note);
  } else if (result == 0) {
    // The parent knows its child's id where the child may not ask.
    if (!is_confined() && !is_first_of_namespace()) publish_note(note, own_process_id());
  } else {
    publish_note(note, result);
    count_child_left_alone();
  }
  return result;
}

using Spawn = decltype(RealStarts::posix_spawn);

int spawn(Spawn next, pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
          const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) noexcept {
  pid_t child_id = 0;
  if (!follows()) {
    const int result = next(child, file, actions, attributes, arguments, environment);
    if (result == 0) count_child_left_alone();
    return result;
  }
  const ExtendedEnvironment extended(environment, images_like_this());
  char* room[extended.pointers()];
  char text[extended.bytes()];
  const StartNote note = begin_note(session::start_spawned, file);
  const int result = next(&child_id, file, actions, attributes, arguments, extended.write(room, text));
  if (result == 0) {
    publish_note(note, child_id);
    if (child != nullptr) *child = child_id;
  } else {
    drop_note(note);
  }
  return result;
}

}  // namespace

HEAPWRIGHT_HOOK pid_t fork() noexcept {
  if (!find(real_starts.fork, "fork")) return -1;
  const StartNote note = begin_fork();
  return end_fork(note, real_starts.fork());
}

HEAPWRIGHT_HOOK pid_t _Fork() noexcept {
  if (!find(real_starts.fork_plain, "_Fork")) return -1;
  const StartNote note = begin_fork();
  return end_fork(note, real_starts.fork_plain());
}

HEAPWRIGHT_HOOK int daemon(int keeps_folder, int keeps_streams) noexcept {
  if (!find(real_starts.daemon, "daemon")) return -1;
  // The child could not say its id, and the parent never returns.
  if (is_confined()) return real_starts.daemon(keeps_folder, keeps_streams);
  const StartNote note = begin_fork();
  const pid_t parent = own_process_id();
  count_child_left_alone();
  const int result = real_starts.daemon(keeps_folder, keeps_streams);
  // The parent has exited inside.
  if (own_process_id() != parent) {
    publish_note(note, own_process_id());
  } else {
    drop_note(note);
  }
  return result;
}

HEAPWRIGHT_HOOK pid_t forkpty(int* terminal, char* name, const termios* settings,
                              const winsize* size) noexcept {
  if (!find(real_starts.forkpty, "forkpty")) return -1;
  const StartNote note = begin_fork();
  return end_fork(note, real_starts.forkpty(terminal, name, settings, size));
}

// A child on its own stack does not return here.
HEAPWRIGHT_HOOK int clone(int (*function)(void*), void* stack, int flags, void* argument, ...) noexcept {
  if (!find(real_starts.clone, "clone")) return -1;
  std::va_list rest;
  va_start(rest, argument);
  void* parent_thread = va_arg(rest, void*);
  void* thread_pointer = va_arg(rest, void*);
  void* child_thread = va_arg(rest, void*);
  va_end(rest);
  const bool is_process = (flags & CLONE_VM) == 0;
  const StartNote note = is_process ? begin_fork() : StartNote{};
  const int result =
      real_starts.clone(function, stack, flags, argument, parent_thread, thread_pointer, child_thread);
  return is_process ? end_fork(note, result) : result;
}

HEAPWRIGHT_HOOK int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, char* const arguments[],
                                char* const environment[]) {
  if (!find(real_starts.posix_spawn, "posix_spawn")) return ENOSYS;
  return spawn(real_starts.posix_spawn, child, path, actions, attributes, arguments, environment);
}

HEAPWRIGHT_HOOK int posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                                 const posix_spawnattr_t* attributes, char* const arguments[],
                                 char* const environment[]) {
  if (!find(real_starts.posix_spawnp, "posix_spawnp")) return ENOSYS;
  return spawn(real_starts.posix_spawnp, child, file, actions, attributes, arguments, environment);
}

// Runs a shell, which is recorded like any program if children are followed.
HEAPWRIGHT_HOOK int system(const char* command) {
  if (!find(real_starts.system, "system")) return -1;
  if (command != nullptr) count_child_left_alone();
  return real_starts.system(command);
}

HEAPWRIGHT_HOOK FILE* popen(const char* command, const char* mode) {
  if (!find(real_starts.popen, "popen")) return nullptr;
  FILE* stream = real_starts.popen(command, mode);
  if (stream != nullptr) count_child_left_alone();
  return stream;
}

void find_real_starts() noexcept {
  find(real_starts.fork, "fork");
  find(real_starts.fork_plain, "_Fork");
  find(real_starts.daemon, "daemon");
  find(real_starts.forkpty, "forkpty");
  find(real_starts.clone, "clone");
  find(real_starts.posix_spawn, "posix_spawn");
  find(real_starts.posix_spawnp, "posix_spawnp");
  find(real_starts.system, "system");
  find(real_starts.popen, "popen");
  find_real_execs();
  forget_failed_lookups();
}

}  // namespace heapwright::record
