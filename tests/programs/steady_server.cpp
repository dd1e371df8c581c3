// SPDX-License-Identifier: MIT
// Threads that answer requests and use every way to allocate meanwhile, and tell what they called. It obeys
// lines on standard input: "go", "pause" (answers with the totals when every thread stands still), "quit"
// (ends with 1 where a request was lost or answered twice). It counts SIGRTMIN. steady_server THREADS
// [unfailing]: never asks for too much, which ends the program with some allocators
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace {

struct alignas(64) Truth {
  std::uint64_t malloc_, calloc_, realloc_, aligned, new_, free_, delete_, null_, failed, requested, answered;
};

std::atomic<bool> is_paused{true};
std::atomic<bool> is_over{false};
std::mutex gate;
std::condition_variable changed;
int standing = 0;
std::atomic<std::uint64_t> next_request{0};
std::atomic<std::uint64_t> signals{0};

bool may_fail = true;
void* volatile kept;

void* keep(void* block) {
  kept = block;
  return block;
}

void made(Truth& truth, std::uint64_t Truth::*function, std::size_t size) {
  ++(truth.*function);
  truth.requested += size;
}

void release(Truth& truth, void* block) {
  free(block);
  ++truth.free_;
}

void use_malloc_family(Truth& truth, std::size_t size) {
  void* block = keep(malloc(size));
  made(truth, &Truth::malloc_, size);
  block = keep(realloc(block, size * 3));
  made(truth, &Truth::realloc_, size * 3);
  release(truth, block);
  block = keep(realloc(nullptr, size));
  made(truth, &Truth::realloc_, size);
  block = keep(realloc(block, 200'000 + size));  // a mapping of its own
  made(truth, &Truth::realloc_, 200'000 + size);
  release(truth, block);
  block = keep(calloc(3, size));
  made(truth, &Truth::calloc_, 3 * size);
  release(truth, block);
  char text[] = "some text that is copied";
  release(truth, keep(strdup(text)));
  made(truth, &Truth::malloc_, sizeof text);
  free(nullptr);
  ++truth.null_;
}

void use_aligned(Truth& truth, std::size_t size) {
  release(truth, keep(aligned_alloc(64, 64 * size)));
  made(truth, &Truth::aligned, 64 * size);
  release(truth, keep(memalign(8, size)));  // glibc's jumps to malloc
  made(truth, &Truth::aligned, size);
  void* block = nullptr;
  if (posix_memalign(&block, 128, size) != 0) std::abort();
  made(truth, &Truth::aligned, size);
  release(truth, keep(block));
}

void use_operators(Truth& truth, std::size_t size) {
  ::operator delete(keep(::operator new(size)));
  made(truth, &Truth::new_, size);
  ++truth.delete_;
  ::operator delete[](keep(::operator new[](size)));
  made(truth, &Truth::new_, size);
  ++truth.delete_;
  ::operator delete(keep(::operator new(size, std::nothrow)));
  made(truth, &Truth::new_, size);
  ++truth.delete_;
}

// operator new fails in the function that it calls, and is left by an exception.
void fail(Truth& truth) {
  volatile std::size_t huge = PTRDIFF_MAX;
  try {
    keep(::operator new(huge));
    std::abort();
  } catch (const std::bad_alloc&) {
    ++truth.failed;
    ++truth.malloc_;  // the exception, whose size is the runtime's
    ++truth.free_;
  }
}

void stand_still() {
  std::unique_lock lock(gate);
  ++standing;
  changed.notify_all();
  changed.wait(lock, [] { return !is_paused || is_over; });
  --standing;
}

void let(std::atomic<bool>& state, bool value) {
  const std::lock_guard lock(gate);
  state = value;
  changed.notify_all();
}

void work(Truth& truth, std::vector<std::atomic<std::uint8_t>>& answers) {
  for (std::uint64_t round = 0; !is_over; ++round) {
    if (is_paused) stand_still();
    if (is_over) return;
    const std::uint64_t request = next_request++;
    const std::size_t size = 1 + request % 700;
    use_malloc_family(truth, size);
    use_aligned(truth, size);
    use_operators(truth, size);
    if (may_fail && round % 64 == 0) fail(truth);
    if (request < answers.size()) ++answers[request];
    ++truth.answered;
  }
}

void say_totals(const std::vector<Truth>& truths) {
  Truth sum{};
  for (const Truth& one : truths) {
    const auto* from = reinterpret_cast<const std::uint64_t*>(&one);
    auto* to = reinterpret_cast<std::uint64_t*>(&sum);
    for (std::size_t at = 0; at < sizeof(Truth) / sizeof *from; ++at) to[at] += from[at];
  }
  char line[512];
  const int length = std::snprintf(
      line, sizeof line,
      "{\"malloc\": %lu, \"calloc\": %lu, \"realloc\": %lu, \"aligned\": %lu, \"new\": %lu, \"free\": %lu, "
      "\"delete\": %lu, \"null\": %lu, \"failed\": %lu, \"requested\": %lu, \"answered\": %lu, "
      "\"signals\": %lu}\n",
      sum.malloc_, sum.calloc_, sum.realloc_, sum.aligned, sum.new_, sum.free_, sum.delete_, sum.null_,
      sum.failed, sum.requested, sum.answered, signals.load());
  if (write(STDOUT_FILENO, line, static_cast<std::size_t>(length)) != length) std::abort();
}

// Without the heap: what main() calls is not among the totals.
bool read_line(char (&line)[16]) {
  std::size_t length = 0;
  char letter = 0;
  while (read(STDIN_FILENO, &letter, 1) == 1 && letter != '\n') {
    if (length + 1 < sizeof line) line[length++] = letter;
  }
  line[length] = '\0';
  return length != 0;
}

}  // namespace

int main(int count, char** arguments) {
  const auto threads = static_cast<std::size_t>(count > 1 ? std::atoi(arguments[1]) : 8);
  may_fail = count < 3;
  std::vector<Truth> truths(threads);
  struct sigaction action {};
  action.sa_handler = [](int) { ++signals; };
  action.sa_flags = SA_RESTART;
  sigaction(SIGRTMIN, &action, nullptr);
  std::vector<std::atomic<std::uint8_t>> answers(50'000'000);
  std::vector<std::thread> workers;
  for (Truth& truth : truths) workers.emplace_back([&] { work(truth, answers); });
  char line[16];
  while (read_line(line)) {
    if (std::strcmp(line, "go") == 0) let(is_paused, false);
    if (std::strcmp(line, "pause") == 0) {
      let(is_paused, true);
      std::unique_lock lock(gate);
      changed.wait(lock, [&] { return standing == static_cast<int>(threads); });
      say_totals(truths);
    }
    if (std::strcmp(line, "quit") == 0) break;
  }
  let(is_over, true);
  for (std::thread& worker : workers) worker.join();
  const std::uint64_t asked = next_request < answers.size() ? next_request.load() : answers.size();
  for (std::uint64_t request = 0; request < asked; ++request) {
    if (answers[request] != 1) return 1;
  }
  return 0;
}
