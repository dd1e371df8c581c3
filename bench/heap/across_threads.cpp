// SPDX-License-Identifier: MIT
// Blocks that one thread makes and another frees.
//
//     across_threads batches PAIRS       PAIRS of threads: one makes batches of 4096 blocks of 16 to 256
//     bytes and hands
//                                        them to the other, which frees them; up to 48 batches (26 MB) wait
//                                        in each pair
//     across_threads successors THREADS  each thread replaces blocks of 16 to 256 bytes at random; after
//     50,000 it hands
//                                        all 1,000 that it has to a new thread and ends
//     across_threads medium THREADS      blocks of 64 to 116 KiB, of which the first page is written,
//     exchanged with
//                                        what another thread left in one of 64 places
//
// Each runs for a second. Prints blocks made per second, CPU nanoseconds a block, and the peak of resident
// memory in bytes.

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

// Threads that the scheduler moves to one processor hand over within its cache, now and then.
void pin_to(unsigned number) {
  cpu_set_t where;
  CPU_ZERO(&where);
  CPU_SET(number % std::thread::hardware_concurrency(), &where);
  pthread_setaffinity_np(pthread_self(), sizeof(where), &where);
}

std::atomic<bool> is_over{false};
std::atomic<std::uint64_t> made{0};

class Sizes {
 public:
  explicit Sizes(std::uint64_t seed) : state_(seed * 2654435761U + 1) {}
  std::size_t between(std::size_t least, std::size_t most) { return least + next() % (most - least + 1); }
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return state_ >> 33U;
  }

 private:
  std::uint64_t state_;
};

void* block_of(std::size_t bytes) {
  void* const block = std::malloc(bytes);
  if (block == nullptr) std::abort();
  *static_cast<char*>(block) = 1;
  return block;
}

constexpr std::size_t blocks_in_batch = 4096;
constexpr std::size_t most_waiting = 48;
using Batch = std::vector<void*>;

// Batches travel in both directions, so that only their blocks are made on one side and freed on the other.
class Channel {
 public:
  void put(Batch&& batch, std::deque<Batch>& where) {
    const std::lock_guard held(lock_);
    where.push_back(std::move(batch));
    changed_.notify_all();
  }
  Batch take(std::deque<Batch>& where) {
    std::unique_lock held(lock_);
    changed_.wait(held, [&] { return !where.empty(); });
    Batch batch = std::move(where.front());
    where.pop_front();
    return batch;
  }

  std::deque<Batch> full;
  std::deque<Batch> empty;

 private:
  std::mutex lock_;
  std::condition_variable changed_;
};

void produce(Channel& channel, unsigned seed) {
  pin_to(2 * seed);
  Sizes sizes(seed);
  while (!is_over.load(std::memory_order_relaxed)) {
    Batch batch = channel.take(channel.empty);
    for (void*& block : batch) block = block_of(sizes.between(16, 256));
    made.fetch_add(batch.size(), std::memory_order_relaxed);
    channel.put(std::move(batch), channel.full);
  }
  channel.put({}, channel.full);
}

void consume(Channel& channel, unsigned seed) {
  pin_to(2 * seed + 1);
  while (true) {
    Batch batch = channel.take(channel.full);
    if (batch.empty()) return;
    for (void* block : batch) std::free(block);
    channel.put(std::move(batch), channel.empty);
  }
}

void run_batches(unsigned pairs, std::vector<std::thread>& threads, std::vector<Channel>& channels) {
  for (unsigned i = 0; i < pairs; ++i) {
    Channel& channel = channels[i];
    for (std::size_t k = 0; k < most_waiting; ++k) channel.empty.emplace_back(blocks_in_batch);
    threads.emplace_back([&channel, i] { produce(channel, i + 1); });
    threads.emplace_back([&channel, i] { consume(channel, i + 1); });
  }
}

std::atomic<unsigned> lines_alive{0};

void replace_blocks(std::vector<void*>* blocks, std::uint64_t seed) {
  Sizes random(seed);
  for (unsigned i = 0; i < 50'000; ++i) {
    void*& block = (*blocks)[random.next() % blocks->size()];
    std::free(block);
    block = block_of(random.between(16, 256));
  }
  made.fetch_add(50'000, std::memory_order_relaxed);
  if (!is_over.load(std::memory_order_relaxed)) {
    std::thread(replace_blocks, blocks, seed + 1).detach();
    return;
  }
  for (void* block : *blocks) std::free(block);
  delete blocks;
  lines_alive.fetch_sub(1);
}

void run_successors(unsigned threads) {
  lines_alive = threads;
  for (unsigned i = 0; i < threads; ++i) {
    auto* const blocks = new std::vector<void*>(1000);
    for (void*& block : *blocks) block = block_of(64);
    std::thread(replace_blocks, blocks, 1'000'000U * (i + 1)).detach();
  }
}

std::atomic<void*> places[64];

void exchange(unsigned seed) {
  Sizes random(seed);
  std::uint64_t count = 0;
  while (!is_over.load(std::memory_order_relaxed)) {
    void* const block = block_of(random.between(std::size_t{64} << 10U, std::size_t{116} << 10U));
    std::memset(block, 1, 4096);
    std::free(places[random.next() % 64].exchange(block, std::memory_order_acq_rel));
    ++count;
  }
  made.fetch_add(count);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const auto number = static_cast<unsigned>(std::strtoul(arguments[2], nullptr, 10));
  std::vector<std::thread> threads;
  std::vector<Channel> channels(number);
  const auto begin = Clock::now();
  if (std::strcmp(arguments[1], "batches") == 0) {
    run_batches(number, threads, channels);
  } else if (std::strcmp(arguments[1], "successors") == 0) {
    run_successors(number);
  } else if (std::strcmp(arguments[1], "medium") == 0) {
    for (unsigned i = 0; i < number; ++i) threads.emplace_back(exchange, i + 1);
  } else {
    return 2;
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  while (lines_alive.load() != 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
  const std::chrono::duration<double> took = Clock::now() - begin;
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const double blocks = static_cast<double>(made.load());
  const double cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
  std::printf("%f %f %ld\n", blocks / took.count(), cpu_s * 1e9 / blocks, used.ru_maxrss * 1024);
}
