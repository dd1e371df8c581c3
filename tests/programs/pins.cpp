// SPDX-License-Identifier: MIT
// Memory of every owner, of sizes known beforehand: survivors of one site that
// keep the pages of others, memory that is allocated and never touched, static
// data, a thread's stack, a mapping of its own and one of a file. Rests at the
// end, so that what the kernel counts stands still. With a number it moves
// blocks in two threads instead, so many rounds, and says how many bytes these are at any
// time; with a second number it rests for 1 ms behind so many of them.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr int survivors = 2000;
constexpr int others = 50;  // for each survivor

char in_bss[8 * mebibyte];
void* kept[survivors];
void* temporary[survivors * others];

void touch(void* memory, std::size_t bytes) { std::memset(memory, 1, bytes); }

}  // namespace

extern "C" {

__attribute__((noinline)) void* session() {
  void* block = std::malloc(1400);
  touch(block, 1400);
  return block;
}

__attribute__((noinline)) void* work() {
  void* block = std::malloc(1000);
  touch(block, 1000);
  return block;
}

__attribute__((noinline)) void* untouched() { return std::malloc(80 * mebibyte); }

__attribute__((noinline)) void* own_mapping() {
  void* memory = mmap(nullptr, 6 * mebibyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, 6 * mebibyte, MADV_NOHUGEPAGE);
  touch(memory, 3 * mebibyte);
  return memory;
}

// 2 MiB of its stack, and an allocation by which the recorder knows the thread.
__attribute__((noinline)) void use_stack() {
  volatile char room[2 * mebibyte];
  for (std::size_t at = 0; at < sizeof room; at += 512) room[at] = 1;
  std::free(std::malloc(24));
}
}

namespace {

// Keeps so many blocks and replaces one after the other, until the time is over. A place's blocks are of one
// size, so that what lives is known while they move.
constexpr int moved = 20'000;
void* held_by_threads[2][moved];

std::size_t size_of(int place) { return 16 + static_cast<std::size_t>(place) * 7919 % 2000; }

void* new_block(int place) {
  void* const block = std::malloc(size_of(place));
  touch(block, size_of(place));
  return block;
}

void move_blocks(unsigned thread, int rounds, int until_rest) {
  void** const held = held_by_threads[thread];
  unsigned seed = thread;
  for (int round = 0; round < rounds; ++round) {
    for (int step = 0; step < moved; ++step) {
      seed = seed * 1664525U + 1013904223U;
      const auto place = static_cast<int>((seed >> 8) % moved);
      std::free(held[place]);
      held[place] = new_block(place);
      if (until_rest != 0 && step % until_rest == 0) usleep(1000);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) {
    std::size_t bytes = 0;
    for (void** const held : held_by_threads) {
      for (int place = 0; place < moved; ++place) {
        held[place] = new_block(place);
        bytes += size_of(place);
      }
    }
    std::printf("note moved %zu\n", bytes);
    const int rounds = std::atoi(arguments[1]), until_rest = count > 2 ? std::atoi(arguments[2]) : 0;
    std::thread other(move_blocks, 0, rounds, until_rest);
    move_blocks(1, rounds, until_rest);
    other.join();
    return 0;
  }
  touch(in_bss, 5 * mebibyte);
  void* const never = untouched();
  void* const mapped = own_mapping();
  const int file = open(arguments[0], O_RDONLY | O_CLOEXEC);
  volatile char read = 0;
  const auto* content = static_cast<const char*>(mmap(nullptr, 16384, PROT_READ, MAP_PRIVATE, file, 0));
  for (int at = 0; at < 16384; at += 4096) read = content[at];
  // Lives as long as the program does.
  std::atomic<bool> is_used = false;
  std::thread([&is_used] {
    use_stack();
    is_used = true;
    usleep(60'000'000);
  }).detach();
  while (!is_used) usleep(1000);
  for (int index = 0; index < survivors; ++index) {
    for (int other = 0; other < others; ++other) temporary[index * others + other] = work();
    kept[index] = session();
  }
  // Last: who sees all of it free, sees everything else as well.
  for (void* block : temporary) std::free(block);
  usleep(4'000'000);
  return never != nullptr && mapped != nullptr && read == 7 ? 1 : 0;
}
