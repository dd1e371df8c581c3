// SPDX-License-Identifier: MIT
// One wrong use of the heap, in a process that has lived:
//   lived_misuse KIND BYTES     `lived_misuse list` names the kinds
// Four threads have made and freed 20,000 blocks of up to 4,000 bytes each, keep 500, and stay; the
// main thread has done the same and made 300 blocks of BYTES, of which it freed a third. Then comes the
// misuse of one of the others, after which it says PASSED; then 5,000 more calls of each kind, after which it
// says ENDED.
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr int thread_count = 4;
constexpr int fill = 'A';

char* made(std::size_t bytes) {
  auto* block = static_cast<char*>(std::malloc(bytes));
  std::memset(block, fill, bytes);
  return block;
}

void live(unsigned seed, int calls) {
  std::mt19937 random(seed);
  std::vector<char*> kept(500);
  for (int i = 0; i < calls; ++i) {
    char*& place = kept[random() % kept.size()];
    std::free(place);
    place = made(1 + random() % (random() % 8 == 0 ? 4000 : 200));
  }
  for (std::size_t i = 0; i < kept.size(); i += 2) std::free(kept[i]);  // the rest stays
}

void in_other_thread(auto work) { std::thread(work).join(); }

struct Misuse {
  char* block;
  std::size_t bytes;
  std::vector<char*> others;  // of the same size
};

char global[64];

struct Kind {
  const char* name;
  void (*run)(Misuse& of);
};

void free_others(Misuse& of, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::free(of.others.back());
    of.others.pop_back();
  }
}

constexpr Kind kinds[] = {
    {"double free",
     [](Misuse& of) {
       std::free(of.block);
       std::free(of.block);
     }},
    {"double free after one other",
     [](Misuse& of) {
       std::free(of.block);
       free_others(of, 1);
       std::free(of.block);
     }},
    {"double free after 20 others",
     [](Misuse& of) {
       std::free(of.block);
       free_others(of, 20);
       std::free(of.block);
     }},
    {"double free, the second by another thread",
     [](Misuse& of) {
       std::free(of.block);
       in_other_thread([&] { std::free(of.block); });
     }},
    {"double free, the first by another thread",
     [](Misuse& of) {
       in_other_thread([&] { std::free(of.block); });
       std::free(of.block);
     }},
    {"double free, both by another thread",
     [](Misuse& of) {
       in_other_thread([&] {
         std::free(of.block);
         free_others(of, 2);
         std::free(of.block);
       });
     }},
    {"free of what realloc has moved",
     [](Misuse& of) {
       auto* moved = static_cast<char*>(std::realloc(of.block, 3 * of.bytes + 70'000));
       std::free(of.block);
       std::free(moved);
     }},
    {"realloc after free",
     [](Misuse& of) {
       std::free(of.block);
       std::memset(std::realloc(of.block, 2 * of.bytes), fill, 2 * of.bytes);
     }},
    {"free 1 byte inside", [](Misuse& of) { std::free(of.block + 1); }},
    {"free 8 bytes inside", [](Misuse& of) { std::free(of.block + 8); }},
    {"free 16 bytes inside", [](Misuse& of) { std::free(of.block + 16); }},
    {"free in the middle", [](Misuse& of) { std::free(of.block + (of.bytes / 2 + 15) / 16 * 16); }},
    {"free 16 bytes inside, by another thread",
     [](Misuse& of) { in_other_thread([&] { std::free(of.block + 16); }); }},
    {"realloc 16 bytes inside",
     [](Misuse& of) { std::memset(std::realloc(of.block + 16, of.bytes), fill, of.bytes); }},
    {"free of the stack",
     [](Misuse&) {
       char local[64];
       std::memset(local, fill, sizeof local);
       std::free(local + 16);
     }},
    {"free of a global", [](Misuse&) { std::free(global + 16); }},
    {"free of a place below all mappings", [](Misuse&) { std::free(reinterpret_cast<char*>(0x2000)); }},
    {"overflow by 1, then free",
     [](Misuse& of) {
       std::memset(of.block + of.bytes, fill, 1);
       std::free(of.block);
     }},
    {"overflow by 8, then free",
     [](Misuse& of) {
       std::memset(of.block + of.bytes, fill, 8);
       std::free(of.block);
     }},
    {"overflow by 16, then free",
     [](Misuse& of) {
       std::memset(of.block + of.bytes, fill, 16);
       std::free(of.block);
     }},
    {"underflow by 1, then free",
     [](Misuse& of) {
       std::memset(of.block - 1, fill, 1);
       std::free(of.block);
     }},
    {"underflow by 16, then free",
     [](Misuse& of) {
       std::memset(of.block - 16, fill, 16);
       std::free(of.block);
     }},
    {"8 bytes written after free",
     [](Misuse& of) {
       std::free(of.block);
       std::memset(of.block, fill, 8);
     }},
    {"all bytes written after free",
     [](Misuse& of) {
       std::free(of.block);
       std::memset(of.block, fill, of.bytes);
     }},
};

const Kind* kind_of(const char* name) {
  for (const Kind& kind : kinds) {
    if (std::strcmp(kind.name, name) == 0) return &kind;
  }
  return nullptr;
}

void say(const char* word) {  // at once, and without a call of the heap
  if (::write(1, word, std::strlen(word)) < 0) std::_Exit(2);
}

void live_on(Misuse& of) {
  std::vector<char*> blocks;
  for (int i = 0; i < 2000; ++i) blocks.push_back(made(of.bytes));
  for (char* other : of.others) std::free(other);
  for (char* block : blocks) std::free(block);
  live(9, 5000);
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count == 2 && std::strcmp(arguments[1], "list") == 0) {
    for (const Kind& kind : kinds) std::puts(kind.name);
    return 0;
  }
  const Kind* kind = argument_count == 3 ? kind_of(arguments[1]) : nullptr;
  if (kind == nullptr) return 2;
  std::latch lived(thread_count);
  for (unsigned i = 0; i < thread_count; ++i) {
    std::thread([i, &lived] {
      live(i, 20'000);
      lived.count_down();
      ::pause();
    }).detach();
  }
  lived.wait();
  live(8, 20'000);
  Misuse misuse{nullptr, std::strtoul(arguments[2], nullptr, 10), {}};
  for (int i = 0; i < 300; ++i) misuse.others.push_back(made(misuse.bytes));
  misuse.block = misuse.others[150];
  misuse.others.erase(misuse.others.begin() + 150);
  for (std::size_t i = misuse.others.size(); i-- > 0;) {
    if (i % 3 != 0) continue;
    std::free(misuse.others[i]);
    misuse.others.erase(misuse.others.begin() + static_cast<std::ptrdiff_t>(i));
  }
  kind->run(misuse);
  say("PASSED\n");
  live_on(misuse);
  say("ENDED\n");
  std::_Exit(0);
}
