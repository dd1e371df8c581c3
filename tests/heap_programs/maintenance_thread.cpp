// SPDX-License-Identifier: MIT
// What the maintenance thread is: its stack between pages that cannot be reached, no capabilities, none to
// gain, no signals, a filter, a name. It ends when nothing waits, and is there again when something does.
#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "public_names.hpp"

namespace {

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

std::FILE* open_of_thread(int id, const char* name) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/%s", id, name);
  std::FILE* file = std::fopen(path, "r");
  REQUIRE(file != nullptr);
  return file;
}

// While it is in a system call: the last but one word of the line.
unsigned long stack_pointer_of(int id) {
  for (;;) {
    std::FILE* file = open_of_thread(id, "syscall");
    unsigned long words[9] = {};
    const int count =
        std::fscanf(file, "%lu %lx %lx %lx %lx %lx %lx %lx %lx", &words[0], &words[1], &words[2], &words[3],
                    &words[4], &words[5], &words[6], &words[7], &words[8]);
    std::fclose(file);
    if (count == 9) return words[7];
    usleep(1000);  // it runs
  }
}

struct Mapping {
  unsigned long begin;
  unsigned long end;
  char rights[5];
};

void check_stack(int id) {
  const unsigned long stack_pointer = stack_pointer_of(id);
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  REQUIRE(maps != nullptr);
  Mapping before{};
  Mapping found{};
  Mapping behind{};
  char line[512];
  while (behind.end == 0 && std::fgets(line, sizeof line, maps) != nullptr) {
    Mapping here{};
    if (std::sscanf(line, "%lx-%lx %4s", &here.begin, &here.end, here.rights) != 3) continue;
    if (found.end != 0) {
      behind = here;
    } else if (here.begin <= stack_pointer && stack_pointer < here.end) {
      found = here;
    } else {
      before = here;
    }
  }
  std::fclose(maps);
  REQUIRE(std::strcmp(found.rights, "rw-p") == 0 && found.end - found.begin <= 65'536);
  REQUIRE(before.end == found.begin && std::strcmp(before.rights, "---p") == 0);
  REQUIRE(behind.begin == found.end && std::strcmp(behind.rights, "---p") == 0);
}

unsigned long seccomp_mode_of(int id) {
  std::FILE* status = open_of_thread(id, "status");
  char line[512];
  unsigned long mode = 0;
  while (std::fgets(line, sizeof line, status) != nullptr) std::sscanf(line, "Seccomp: %lu", &mode);
  std::fclose(status);
  return mode;
}

// Its filter is the last that it takes on; beside other work it may not have run yet.
void await_filter(int id) {
  const std::time_t end = std::time(nullptr) + 100;
  while (seccomp_mode_of(id) == 0) {
    REQUIRE(std::time(nullptr) < end);
    usleep(1000);
  }
}

void check_status(int id) {
  await_filter(id);
  std::FILE* status = open_of_thread(id, "status");
  char line[512];
  int seen = 0;
  while (std::fgets(line, sizeof line, status) != nullptr) {
    unsigned long value = 0;
    const bool is_capability = std::sscanf(line, "CapPrm: %lx", &value) == 1 ||
                               std::sscanf(line, "CapEff: %lx", &value) == 1 ||
                               std::sscanf(line, "CapInh: %lx", &value) == 1;
    if (is_capability) {
      REQUIRE(value == 0);
      ++seen;
    } else if (std::sscanf(line, "NoNewPrivs: %lu", &value) == 1) {
      REQUIRE(value == 1);
      ++seen;
    } else if (std::sscanf(line, "Seccomp: %lu", &value) == 1) {
      REQUIRE(value == 2);
      ++seen;
    } else if (std::sscanf(line, "SigBlk: %lx", &value) == 1) {
      REQUIRE((~value & ~(1UL << 8 | 1UL << 18)) == 0);  // all but SIGKILL and SIGSTOP
      ++seen;
    }
  }
  std::fclose(status);
  REQUIRE(seen == 6);
  std::FILE* name = open_of_thread(id, "comm");
  REQUIRE(std::fgets(line, sizeof line, name) != nullptr && std::strcmp(line, "heapwright\n") == 0);
  std::fclose(name);
}

// 20 MiB, so that the heap is no longer small, and gives back.
void make_memory_wait() {
  static void* blocks[200];
  for (void*& block : blocks) {
    block = std::malloc(100'000);
    REQUIRE(block != nullptr);
    std::memset(block, 1, 100'000);
  }
  for (void* block : blocks) std::free(block);
}

// It may be about to end, or to begin.
int await_other_thread(bool is_wanted) {
  const std::time_t end = std::time(nullptr) + 100;
  for (;;) {
    const int id = other_thread();
    if ((id != 0) == is_wanted) return id;
    REQUIRE(std::time(nullptr) < end);
    if (is_wanted) make_memory_wait();
    usleep(10'000);
  }
}

}  // namespace

int main() {
  make_memory_wait();
  const int id = other_thread();
  REQUIRE(id != 0);
  await_filter(id);
  check_stack(id);
  check_status(id);
  // It gives back for at least a tenth of a second, and then lingers, as the next memory may soon come.
  const std::time_t begin = std::time(nullptr);
  await_other_thread(false);
  REQUIRE(std::time(nullptr) - begin >= 4);
  check_status(await_other_thread(true));
  say("done\n");
  return 0;
}
