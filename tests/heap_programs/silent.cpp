// SPDX-License-Identifier: MIT
// A server that was busy and falls silent: its memory goes back although it calls the heap no more, as root
// with what a container leaves it, and after it became another user, before or after it was busy.
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <ctime>

#include "public_names.hpp"

namespace {

// The capabilities that Docker leaves to root by default.
constexpr unsigned long of_containers = 0xa80425fb;

std::size_t resident_mebibytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  REQUIRE(file != nullptr);
  unsigned long pages = 0;
  REQUIRE(std::fscanf(file, "%*u %lu", &pages) == 1);
  std::fclose(file);
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) >> 20;
}

void be_busy() {
  constexpr std::size_t count = 40'000;
  static void* blocks[count];
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bytes = i % 8 == 0 ? 20'000 : 3'000;
    REQUIRE((blocks[i] = std::malloc(bytes)) != nullptr);
    std::memset(blocks[i], 1, bytes);
  }
  REQUIRE(resident_mebibytes() >= 190);
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 1000 != 0) std::free(blocks[i]);
  }
}

void fall_silent() {
  const std::time_t begin = std::time(nullptr);
  while (resident_mebibytes() > 30) {
    REQUIRE(std::time(nullptr) - begin <= 5);
    usleep(20'000);
  }
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

void become_itself() { REQUIRE(setgid(getgid()) == 0 && setuid(getuid()) == 0); }
void become_nobody() {
  REQUIRE(getuid() != 0 || setgroups(0, nullptr) == 0);
  REQUIRE(getuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0));
}

void be_in_container() {
  if (getuid() != 0) return;
  for (unsigned long number = 0; prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; ++number) {
    const bool stays = number < 64 && (of_containers >> number & 1) != 0;
    REQUIRE(stays || prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0);
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const auto word = static_cast<std::uint32_t>(of_containers);
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{word, word, 0}, {0, 0, 0}};
  REQUIRE(syscall(SYS_capset, &header, data) == 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) {  // from its start with these rights
    be_in_container();
    execl(argv[0], argv[0], "started", nullptr);
    return 113;
  }
  in_child([] {
    be_busy();
    fall_silent();
  });
  in_child([] {
    become_itself();
    be_busy();
    fall_silent();
  });
  in_child([] {
    be_busy();
    become_nobody();
    fall_silent();
  });
  say("done\n");
  return 0;
}
