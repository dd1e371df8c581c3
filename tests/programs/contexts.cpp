// SPDX-License-Identifier: MIT
// Says by annotate.h what its threads work for: contexts serve | forks | many | moves | pauses | inside HOW.
#include <signal.h>
#include <sys/wait.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "heapwright/annotate.h"
#include "heapwright/record.h"
#include "say.hpp"

namespace {

constexpr int workers = 4;
constexpr int requests = 300;  // of each worker

void allocate(std::size_t size, bool is_kept = false) {
  void* block = keep(std::malloc(size));
  if (!is_kept) std::free(block);
}

// A request: its own blocks, one of the nested context that checks who asks, and one that it frees there.
void handle(int number) {
  static const char* const endpoints[] = {"GET /cart", "GET /item", "POST /order"};
  const heapwright::annotated_context endpoint(endpoints[number % 3]);
  void* const request = keep(std::malloc(3001));
  {
    const heapwright::annotated_context auth("auth");
    allocate(3003);
    std::free(request);
  }
  allocate(3005, number == 0);
}

void serve() {
  std::thread threads[workers];
  for (auto& thread : threads) {
    thread = std::thread([] {
      for (int number = 0; number < requests; ++number) handle(number);
      allocate(3007);
    });
  }
  for (auto& thread : threads) thread.join();
}

void fork_in_context() {
  const heapwright::annotated_context parents("parent's");
  allocate(3001);
  const pid_t child = fork();
  if (child == 0) {
    allocate(3003);
    {
      const heapwright::annotated_context childs("child's");
      allocate(3005);
    }
    std::exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

// More than have a name of their own, each twice; names that end at the limit, behind it, and in no text.
void many() {
  for (int round = 0; round < 2; ++round) {
    for (int number = 0; number < 300; ++number) {
      const std::string name = "tenant " + std::to_string(number);
      const heapwright::annotated_context tenant(name.c_str());
      allocate(3001);
    }
  }
}

void odd_names() {
  const std::string exact(120, 'e'), longer(121, 'l'), slot(24, 's');
  for (const char* name : {exact.c_str(), longer.c_str(), slot.c_str(), "", "\x1b[2J\xff\n"}) {
    const heapwright::annotated_context context(name);
    allocate(3001);
  }
}

// A task that begins on one thread and goes on on another, as coroutines do.
void moves() {
  const char* before = heapwright_context_begins("first task");
  allocate(3001);
  heapwright_context_ends(before);
  std::thread([] {
    allocate(3007);
    const char* const none = heapwright_context_begins("first task");
    allocate(3003);
    heapwright_context_ends(none);
    allocate(3007);
  }).join();
  allocate(3007);
}

void pauses() {
  const heapwright::annotated_context outer("outer");
  heapwright_stop_recording();
  const char* const before = heapwright_context_begins("begun in the pause");
  heapwright_start_recording();
  allocate(3001);
  heapwright_context_ends(before);
  allocate(3003);
}

void end_inside(const std::string& how) {
  heapwright_context_begins("last");
  for (int i = 0; i < 1000; ++i) allocate(3001);
  if (how == "exit") std::exit(0);
  if (how == "killed") kill(getpid(), SIGKILL);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  if (what == "serve") serve();
  if (what == "forks") fork_in_context();
  if (what == "many") many();
  if (what == "odd") odd_names();
  if (what == "moves") moves();
  if (what == "pauses") pauses();
  if (what == "inside") end_inside(count > 2 ? arguments[2] : "exit");
  return 0;
}
