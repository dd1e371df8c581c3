// SPDX-License-Identifier: MIT
// A program that frees most of what it has while it ends. Arguments: return or exit, how it ends, or thread,
// whose exit() it is then; and what else an exit handler does: nothing, works (makes and frees blocks for a
// long time), forks (a child makes and frees as much, and exits by itself), opens (a library). Prints what it
// computed, how far its resident memory grew in works.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int entries = 100'000;
std::string then;

// Destroyed after the table.
struct Sum {
  long value = 0;
  ~Sum() { std::printf("sum %ld\n", value); }
} sum;

struct Table {
  std::map<int, std::string> rows;
  ~Table() {
    for (const auto& [key, text] : rows) sum.value += key + static_cast<long>(text.size());
  }
} table;

long resident_bytes() {
  long pages = 0;
  long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) std::abort();
  std::fclose(file);
  return resident * 4096;
}

// In all 400 MiB, of blocks that glibc maps and of others.
long work() {
  const long before = resident_bytes();
  long most = before;
  for (int round = 0; round < 400; ++round) {
    std::vector<char*> blocks;
    for (int i = 0; i < 20; ++i) {
      const std::size_t bytes = i == 0 ? 1'000'000 : 2500;
      blocks.push_back(static_cast<char*>(std::malloc(bytes)));
      std::memset(blocks.back(), round, bytes);
    }
    for (char* block : blocks) std::free(block);
    if (round % 20 == 0) most = std::max(most, resident_bytes());
  }
  return most - before;
}

void at_end() {
  if (then == "works") std::printf("grew %ld\n", work());
  if (then == "opens") {
    void* library = dlopen("libm.so.6", RTLD_NOW);
    std::printf("opened %d\n", library != nullptr && dlsym(library, "cos") != nullptr);
    if (library != nullptr) dlclose(library);
  }
  if (then != "forks") return;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const long grew = work();
    std::printf("child grew %ld\n", grew);
    std::fflush(stdout);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) return 2;
  then = words[2];
  std::atexit(at_end);
  for (int key = 0; key < entries; ++key) table.rows.emplace(key, std::string(40, 'x'));
  const std::string how = words[1];
  if (how == "exit") std::exit(0);
  if (how == "thread") std::thread([] { std::exit(0); }).join();
  return 0;
}
