// SPDX-License-Identifier: MIT
// Which processes have a maintenance thread, and when it starts: not with small blocks that fit in what
// the library made writable when it was loaded, so that such a process may
// still do what only those with one thread may; but with a block above 64 KiB,
// with the growth of the heap, with a further thread, and again in a child of
// a fork. It is away while the process changes its credentials, and for good
// after filters and namespaces.
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

#include <cstring>
#include <ctime>
#include <string>
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

// The thread beside the first one, 0: there is none.
int other_thread() {
  DIR* folder = opendir("/proc/self/task");
  REQUIRE(folder != nullptr);
  int found = 0;
  while (const dirent* entry = readdir(folder)) {
    const int id = std::atoi(entry->d_name);
    if (id != 0 && id != getpid()) found = id;
  }
  closedir(folder);
  return found;
}

// Users, groups and capabilities that may not be exceeded, as the kernel tells them.
std::string identity_of(int id) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/status", id);
  std::FILE* status = std::fopen(path, "r");
  REQUIRE(status != nullptr);
  std::string found;
  char line[512];
  while (std::fgets(line, sizeof line, status) != nullptr) {
    for (const char* name : {"Uid:", "Gid:", "Groups:", "CapBnd:"}) {
      if (std::strncmp(line, name, std::strlen(name)) == 0) found += line;
    }
  }
  std::fclose(status);
  return found;
}

void make_memory_wait() {
  static void* held[200];
  for (void*& block : held) REQUIRE((block = std::malloc(100'000)) != nullptr);
  for (void* block : held) std::free(block);
}

// The thread ends before the process changes what it is, and stays away.
void become_restricted(bool (*change)()) {
  make_large_block();
  REQUIRE(change());
  REQUIRE(thread_count() == 1);
  hold_small_blocks(16);
  make_blocks_wait();
  REQUIRE(thread_count() == 1);
}
void unshare_threads() { become_restricted(may_unshare_threads); }

// The thread ends before the process becomes another, and comes back as that one, at once if memory waits.
void become_another(bool (*change)()) {
  make_large_block();
  make_memory_wait();
  const int before = other_thread();
  REQUIRE(before != 0);
  REQUIRE(change());
  const int after = other_thread();
  REQUIRE(after != 0 && after != before);
  REQUIRE(identity_of(after) == identity_of(getpid()));
}

// Each is allowed or refused as in a process that never had the thread: `change` is 0 or errno.
void change_alike(int (*change)(), void (*become)(bool (*)())) {
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
  become([] { return changes() == without; });
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
// Of all threads, as libraries that know the process's rules ask for it. The result is the id of a thread
// that has another filter.
int filter_calls_of_all() {
  sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{1, code};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program));
}
int unshare_by_number() { return result_of(static_cast<int>(syscall(SYS_unshare, CLONE_NEWUSER))); }

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
int (*const restrictions_of_process[])() = {enter_mounts, filter_calls, filter_calls_of_all,
                                            unshare_by_number};
int (*const changes_of_process[])() = {
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
void drop_root() {
  if (getuid() != 0) return;
  become_another([] {
    const gid_t groups[] = {65533};
    return setgroups(1, groups) == 0 && setgid(65534) == 0 && setuid(65534) == 0;
  });
}

// Who changes often gets it back after a rest.
void become_many() {
  make_large_block();
  for (int i = 0; i < 16; ++i) {
    make_memory_wait();
    REQUIRE(setgid(getgid()) == 0 && thread_count() == 2);
  }
  REQUIRE(setgid(getgid()) == 0);
  make_memory_wait();
  REQUIRE(thread_count() == 1);
  usleep(1'100'000);
  make_memory_wait();
  REQUIRE(thread_count() == 2);
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

// Has `act` done by this program, started anew.
void start_anew(char** argv, const char* how, bool (*prepare)()) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    char* const arguments[] = {argv[0], const_cast<char*>(how), nullptr};
    if (prepare()) execv("/proc/self/exe", arguments);
    _exit(113);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

void grow_by_all_means() {
  hold_small_blocks(20);
  std::free(keep(std::malloc(70'000)));
  make_blocks_wait();
}

// From here on no thread may have a filter of its own.
bool refuse_filters() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof(code) / sizeof(*code), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool become_nobody() { return setgid(65534) == 0 && setuid(65534) == 0; }

// By default all have it; who has special rights only where it can be confined.
void check_default(char** argv) {
  grow_by_all_means();
  REQUIRE(thread_count() == 2);
  start_anew(argv, "refused", refuse_filters);
  if (getuid() != 0) return;
  start_anew(argv, "default", become_nobody);
}

void check_refused() {
  grow_by_all_means();
  const std::time_t end = std::time(nullptr) + 100;  // it ends by itself
  while (getuid() == 0 && thread_count() != 1) REQUIRE(std::time(nullptr) < end);
  grow_by_all_means();
  REQUIRE(thread_count() == (getuid() == 0 ? 1 : 2));
}

}  // namespace

int main(int argc, char** argv) {
  if (!is_preloaded() || argc > 1) {
    if (is_preloaded() && argc > 1) {
      std::strcmp(argv[1], "refused") == 0 ? check_refused() : check_default(argv);
    }
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
  in_child(drop_root);
  in_child(become_many);
  static int (*chosen)();
  for (int (*const change)() : changes_of_process) {
    chosen = change;
    in_child([] { change_alike(chosen, become_another); });
  }
  for (int (*const change)() : restrictions_of_process) {
    chosen = change;
    in_child([] { change_alike(chosen, become_restricted); });
  }
  in_child(grow);
  in_child(run_another_thread);
  REQUIRE(thread_count() == 1);
  make_large_block();
  in_child(use_after_fork);
  say("done\n");
  return 0;
}
