// SPDX-License-Identifier: MIT
// How long forks take while another thread's memory is given back:
//   fork_wait LOAD SECONDS
// LOAD: huge (a block of 256 MB is made, written and freed, again and again), mixed (150 MB of blocks of
// 200 kB, then one of 60 MB), small (200 MB of blocks of 1000 bytes), none (200 MB of them stay). The other
// thread forks a child that ends at once, every millisecond. Prints the number of forks, and the median, the
// 99th percentile and the longest in us.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
std::atomic<bool> is_over{false};

std::vector<void*> make(std::size_t bytes, std::size_t size) {
  std::vector<void*> blocks(bytes / size);
  for (void*& block : blocks) block = std::memset(std::malloc(size), 1, size);
  return blocks;
}

void make_and_free(std::size_t bytes, std::size_t size) {
  for (void* block : make(bytes, size)) std::free(block);
}

void run(const std::string& load) {
  if (load == "none") {
    make(200'000'000, 1000);
    while (!is_over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  while (!is_over) {
    if (load == "huge") make_and_free(256'000'000, 256'000'000);
    if (load == "mixed") make_and_free(150'000'000, 200'000);
    if (load == "mixed") make_and_free(60'000'000, 60'000'000);
    if (load == "small") make_and_free(200'000'000, 1000);
  }
}

double fork_us() {
  const Clock::time_point begin = Clock::now();
  const pid_t child = fork();
  if (child == 0) _exit(0);
  const Clock::time_point end = Clock::now();
  waitpid(child, nullptr, 0);
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 3) return 2;
  std::thread worker(run, std::string(arguments[1]));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::vector<double> taken_us;
  taken_us.reserve(100'000);
  const Clock::time_point end = Clock::now() + std::chrono::seconds(std::atoi(arguments[2]));
  while (Clock::now() < end) {
    taken_us.push_back(fork_us());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  is_over = true;
  worker.join();
  std::sort(taken_us.begin(), taken_us.end());
  const std::size_t count = taken_us.size();
  std::printf("%zu %.0f %.0f %.0f\n", count, taken_us[count / 2], taken_us[count * 99 / 100],
              taken_us.back());
  return 0;
}
