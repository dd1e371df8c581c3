// SPDX-License-Identifier: MIT
// Question: which cache lines do threads take from each other in a heap's calls?
//   shared_lines LOAD THREADS ROUNDS   prints where its own data begins and ends, and the heap calls of a
//   turn
// Threads work in turns, one at a time, ROUNDS turns each. Around its work a thread stores to a marker of its
// own (line 2 x thread of the own data before, the next after), so that a trace of all accesses, as
// valgrind's lackey writes it, can be cut into turns. The blocks are not written: what a program does to them
// is not the heap's.
//   pairs      16 pairs of malloc and free, sizes to 512 bytes
//   own        16 blocks of the thread's 64 are freed and made again, sizes to 8 KiB
//   next       16 blocks are made; those that the thread before made are freed
//   any        16 of 64 x THREADS common blocks are freed and made again, whoever made them
//   large      4 pairs of 256 KiB
//   growing    a buffer grows from 64 bytes to 16 KiB by realloc, and is freed
//   comes      a thread begins, makes and frees 16 blocks, and ends; its turn is all of its life
#include <elf.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

constexpr unsigned most_threads = 128;
constexpr unsigned kept_blocks = 64;
constexpr unsigned blocks_of_a_turn = 16;

struct alignas(64) Marker {
  volatile std::uint64_t stored;
};
struct alignas(64) Turn {
  sem_t may_go;
  std::uint32_t random;
  std::array<void*, kept_blocks> blocks;
};
// All that the program itself writes in a turn: not the heap's, so left out of what is counted.
struct Own {
  std::array<Marker, std::size_t{2} * most_threads> markers;
  std::array<Turn, most_threads> turns;
  std::array<void*, std::size_t{most_threads} * kept_blocks> common;
  std::atomic<long> now_ns;
};
Own own;

std::string_view load;
unsigned threads = 2;
unsigned rounds = 1;

std::uint32_t draw(std::uint32_t& random, std::uint32_t below) {
  random = random * 1664525 + 1013904223;
  return (random >> 8) % below;
}

void exchange(void*& block, std::size_t bytes) {
  std::free(block);
  block = std::malloc(bytes);
}

void work(unsigned thread) {
  Turn& turn = own.turns[thread];
  auto& random = turn.random;
  if (load == "pairs" || load == "comes") {
    for (unsigned block = 0; block < blocks_of_a_turn; ++block) {
      std::free(std::malloc(8 + draw(random, 505)));
    }
  } else if (load == "own") {
    for (unsigned block = 0; block < blocks_of_a_turn; ++block) {
      exchange(turn.blocks[draw(random, kept_blocks)], 8 + draw(random, 8185));
    }
  } else if (load == "next") {
    auto& before = own.turns[(thread + threads - 1) % threads].blocks;
    for (unsigned block = 0; block < blocks_of_a_turn; ++block) std::free(before[block]);
    for (unsigned block = 0; block < blocks_of_a_turn; ++block) {
      before[block] = nullptr;
      turn.blocks[block] = std::malloc(8 + draw(random, 505));
    }
  } else if (load == "any") {
    for (unsigned block = 0; block < blocks_of_a_turn; ++block) {
      exchange(own.common[draw(random, threads * kept_blocks)], 8 + draw(random, 505));
    }
  } else if (load == "large") {
    for (unsigned block = 0; block < 4; ++block) std::free(std::malloc(std::size_t{256} << 10));
  } else if (load == "growing") {
    void* buffer = nullptr;
    for (std::size_t bytes = 64; bytes <= std::size_t{16} << 10; bytes *= 2) {
      buffer = std::realloc(buffer, bytes);
    }
    std::free(buffer);
  }
}

unsigned calls_of_a_turn() { return load == "large" ? 8 : load == "growing" ? 10 : 2 * blocks_of_a_turn; }

void marked(unsigned thread) {
  own.markers[std::size_t{2} * thread].stored = 1;
  work(thread);
  own.markers[std::size_t{2} * thread + 1].stored = 1;
}

void* live(void* of) {
  const auto thread = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(of));
  for (unsigned round = 0; round < rounds; ++round) {
    sem_wait(&own.turns[thread].may_go);
    marked(thread);
    sem_post(&own.turns[(thread + 1) % threads].may_go);
  }
  return nullptr;
}

void run_threads() {
  std::array<pthread_t, most_threads> started{};
  for (unsigned thread = 0; thread < threads; ++thread) {
    pthread_create(&started[thread], nullptr, live, reinterpret_cast<void*>(std::uintptr_t{thread}));
  }
  sem_post(&own.turns[0].may_go);
  for (unsigned thread = 0; thread < threads; ++thread) pthread_join(started[thread], nullptr);
}

void* come_and_go(void* of) {
  marked(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(of)));
  return nullptr;
}

}  // namespace

// A heap's clock hardly moves, however slow the tool is: what is given back or lent after some time is not.
extern "C" int clock_gettime(clockid_t, timespec* time) {
  *time = {1000, own.now_ns += 100};
  return 0;
}

namespace {

constexpr char clock_name[] = "__vdso_clock_gettime";

// In place of the object that the kernel maps into every process, where a heap may look for the clock: has
// this clock.
struct KernelObject {
  Elf64_Ehdr header;
  std::array<Elf64_Phdr, 2> segments;
  std::array<Elf64_Dyn, 3> dynamic;
  std::array<Elf64_Sym, 2> symbols;
  std::array<char, sizeof clock_name + 1> names;
};
KernelObject kernel_object;

std::uintptr_t offset_of(const void* place) {
  return reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(&kernel_object);
}

// Not in a constructor: a preloaded heap asks before any of this program runs.
void describe_kernel_object() {
  KernelObject& object = kernel_object;
  object.header.e_phoff = offset_of(&object.segments);
  object.header.e_phnum = 2;
  object.segments[0].p_type = PT_LOAD;
  object.segments[0].p_memsz = sizeof object;
  object.segments[1].p_type = PT_DYNAMIC;
  object.segments[1].p_offset = offset_of(&object.dynamic);
  object.dynamic[0] = {DT_SYMTAB, {offset_of(&object.symbols)}};
  object.dynamic[1] = {DT_STRTAB, {offset_of(&object.names)}};
  object.symbols[1].st_name = 1;
  object.symbols[1].st_shndx = 1;
  object.symbols[1].st_value = offset_of(reinterpret_cast<const void*>(&clock_gettime));
  std::memcpy(&object.names[1], clock_name, sizeof clock_name);
}

const Elf64_auxv_t* auxiliary_vector() {  // behind the environment's end
  char** entry = environ;
  while (*entry != nullptr) ++entry;
  return reinterpret_cast<const Elf64_auxv_t*>(entry + 1);
}

}  // namespace

extern "C" unsigned long getauxval(unsigned long type) noexcept {
  if (type == AT_SYSINFO_EHDR) {
    describe_kernel_object();
    return reinterpret_cast<std::uintptr_t>(&kernel_object);
  }
  for (const Elf64_auxv_t* entry = auxiliary_vector(); entry->a_type != AT_NULL; ++entry) {
    if (entry->a_type == type) return entry->a_un.a_val;
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  load = argv[1];
  threads = static_cast<unsigned>(std::atoi(argv[2]));
  rounds = static_cast<unsigned>(std::atoi(argv[3]));
  if (threads < 1 || threads > most_threads) return 2;
  for (unsigned thread = 0; thread < threads; ++thread) {
    own.turns[thread].random = thread + 1;
    sem_init(&own.turns[thread].may_go, 0, 0);
  }
  std::printf("%lx %lx %u\n", reinterpret_cast<std::uintptr_t>(&own),
              reinterpret_cast<std::uintptr_t>(&own + 1), calls_of_a_turn());
  std::fflush(stdout);
  if (load != "comes") {
    run_threads();
    return 0;
  }
  for (unsigned round = 0; round < rounds * threads; ++round) {
    pthread_t started{};
    pthread_create(&started, nullptr, come_and_go, reinterpret_cast<void*>(std::uintptr_t{round % threads}));
    pthread_join(started, nullptr);
  }
  return 0;
}
