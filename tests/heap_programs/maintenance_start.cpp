// SPDX-License-Identifier: MIT
// Which processes have a maintenance thread, and when it starts: not with small blocks that fit in what
// the library made writable when it was loaded, so that such a process may
// still do what only those with one thread may; but with a block above 64 KiB,
// with the growth of the heap, with a further thread, and again in a child of
// a fork.
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "public_names.hpp"

extern "C" int capset(cap_user_header_t header, cap_user_data_t data);

namespace {

int thread_count() {
  DIR* folder = opendir("/proc/self/task");
  REQUIRE(folder != nullptr);
  int count = 0;
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  return count;
}

// The kernel refuses this to a process with more than one thread.
bool may_unshare_threads() { return unshare(CLONE_THREAD) == 0; }

std::vector<void*> blocks;

void hold_small_blocks(std::size_t mebibytes) {
  for (std::size_t i = 0; i < mebibytes * 1024; ++i) {
    blocks.push_back(std::malloc(1000));
    REQUIRE(blocks.back() != nullptr);
  }
}

void make_blocks_wait() {
  for (int i = 0; i < 100; ++i) std::free(keep(std::malloc(100'000)));
}

void in_child(void (*act)()) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    act();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

void make_large_block() {
  REQUIRE(std::malloc(70'000) != nullptr);
  REQUIRE(thread_count() == 2);
}

// The thread ends before the process changes what it is, and stays away.
void become_another(bool (*change)()) {
  make_large_block();
  REQUIRE(change());
  REQUIRE(thread_count() == 1);
  hold_small_blocks(16);
  make_blocks_wait();
  REQUIRE(thread_count() == 1);
}
void unshare_threads() { become_another(may_unshare_threads); }

// Each is allowed or refused as in a process that never had the thread: `change` is 0 or errno.
void change_alike(int (*change)()) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    REQUIRE(thread_count() == 1);
    const int result = change();
    REQUIRE(write(ends[1], &result, sizeof result) == sizeof result);
    _exit(0);
  }
  static int without = -1;
  REQUIRE(read(ends[0], &without, sizeof without) == sizeof without);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  static int (*changes)();
  changes = change;
  become_another([] { return changes() == without; });
}

int result_of(int result) { return result == 0 ? 0 : errno; }

// The kernel refuses it to a process whose threads share their working directory.
int enter_mounts() {
  const int file = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  return result_of(setns(file, CLONE_NEWNS));
}
int filter_calls() {
  sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{1, code};
  return result_of(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
}
int keep_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
  REQUIRE(syscall(SYS_capget, &header, data) == 0);
  return result_of(capset(&header, data));
}
int keep_groups() {
  static gid_t groups[1000];
  const int count = getgroups(1000, groups);
  REQUIRE(count >= 0);
  return result_of(setgroups(static_cast<std::size_t>(count), groups));
}

// Each of those that the library stands in front of.
int (*const changes_of_process[])() = {
    enter_mounts,
    filter_calls,
    keep_capabilities,
    keep_groups,
    [] { return result_of(initgroups("nobody", getgid())); },
    [] { return result_of(seteuid(geteuid())); },
    [] { return result_of(setreuid(getuid(), geteuid())); },
    [] { return result_of(setresuid(getuid(), geteuid(), geteuid())); },
    [] { return result_of(setgid(getgid())); },
    [] { return result_of(setegid(getegid())); },
    [] { return result_of(setregid(getgid(), getegid())); },
};
void give_up_privileges() {
  become_another([] { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0; });
}
void become_a_group() {
  become_another([] { return setresgid(getgid(), getgid(), getgid()) == 0; });
}
void become_a_user() {
  become_another([] { return setuid(getuid()) == 0; });
}

void grow() {
  hold_small_blocks(16);
  REQUIRE(thread_count() == 2);
}

void run_another_thread() {
  std::thread([] { std::free(std::malloc(1)); }).join();
  while (thread_count() > 2) sched_yield();  // the kernel is not done with the joined one
  REQUIRE(thread_count() == 2);
}

void use_after_fork() {
  REQUIRE(thread_count() == 1);
  hold_small_blocks(1);
  REQUIRE(thread_count() == 2);
}

// By default: root has none, nor whoever has capabilities.
void check_default(char** argv) {
  hold_small_blocks(20);
  std::free(keep(std::malloc(70'000)));
  make_blocks_wait();
  REQUIRE(thread_count() == (getuid() == 0 ? 1 : 2));
  if (getuid() != 0) return;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    REQUIRE(setgid(65534) == 0 && setuid(65534) == 0);
    execv("/proc/self/exe", argv);
    _exit(113);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (!is_preloaded() || argc > 1) {
    if (is_preloaded()) check_default(argv);
    say("done\n");
    return 0;
  }
  blocks.reserve(40 * 1024);  // 320 KiB, while the heap is small
  hold_small_blocks(20);
  REQUIRE(thread_count() == 1);
  in_child([] { REQUIRE(may_unshare_threads()); });
  in_child(make_large_block);
  in_child(unshare_threads);
  in_child(give_up_privileges);
  in_child(become_a_group);
  in_child(become_a_user);
  for (int (*const change)() : changes_of_process) {
    static int (*chosen)();
    chosen = change;
    in_child([] { change_alike(chosen); });
  }
  in_child(grow);
  in_child(run_another_thread);
  REQUIRE(thread_count() == 1);
  make_large_block();
  in_child(use_after_fork);
  say("done\n");
  return 0;
}
