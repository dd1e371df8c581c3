// SPDX-License-Identifier: MIT
// Bytes as creations, markers, rewinds and resets of an arena. Each object must
// keep its bytes and be destroyed exactly when its arena is rewound below it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "heapwright/arena.hpp"

namespace {

struct Noted {
  std::vector<Noted*>& living;
  unsigned value;
  Noted(std::vector<Noted*>& all, unsigned n) : living(all), value(n) { living.push_back(this); }
  ~Noted() {
    if (living.back() != this) std::abort();  // newest first
    living.pop_back();
  }
};

struct Raw {
  unsigned char* first;
  std::size_t bytes;
  unsigned char value;
};

struct State {
  std::vector<Noted*> objects;
  std::vector<Raw> raw;
  struct Mark {
    heapwright::arena::marker marker;
    std::size_t objects, raw;
  };
  std::vector<Mark> marks;
};

void check(const State& state) {
  for (const Raw& block : state.raw) {
    if (!std::all_of(block.first, block.first + block.bytes, [&](auto b) { return b == block.value; })) {
      std::abort();
    }
  }
}

void check_usage(const heapwright::arena_usage& usage, const State& state) {
  std::size_t requested = state.objects.size() * sizeof(Noted);
  for (const Raw& block : state.raw) requested += std::max<std::size_t>(block.bytes, 1);
  if (usage.requested_bytes != requested || usage.used_bytes < requested) std::abort();
  if (usage.padding_bytes > usage.used_bytes || usage.tail_bytes > usage.used_bytes) std::abort();
}

void allocate(heapwright::arena& memory, State& state, unsigned kind, unsigned number) {
  const std::size_t bytes = kind < 250 ? number % 600 : number * 7;
  const std::size_t alignment = std::size_t{1} << kind % 8;
  auto* first = static_cast<unsigned char*>(memory.allocate(bytes, alignment));
  if (reinterpret_cast<std::uintptr_t>(first) % alignment != 0 || !memory.owns(first)) std::abort();
  std::memset(first, static_cast<int>(number % 256), bytes);
  state.raw.push_back({first, bytes, static_cast<unsigned char>(number % 256)});
}

void rewind(heapwright::arena& memory, State& state, unsigned number) {
  if (state.marks.empty()) return;
  state.marks.resize(number % state.marks.size() + 1);
  const State::Mark mark = state.marks.back();
  memory.rewind(mark.marker);
  if (state.objects.size() != mark.objects) std::abort();
  state.raw.resize(mark.raw);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  State state;
  heapwright::arena memory({.first_block_bytes = 128, .largest_block_bytes = 4096});
  for (std::size_t i = 0; i + 2 < std::min<std::size_t>(size, 1500); i += 3) {
    const unsigned number = data[i + 1] + 256U * data[i + 2];
    switch (data[i] % 5) {
      case 0:
        memory.create<Noted>(state.objects, number);
        break;
      case 1:
        allocate(memory, state, data[i], number);
        break;
      case 2:
        state.marks.push_back({memory.mark(), state.objects.size(), state.raw.size()});
        break;
      case 3:
        rewind(memory, state, number);
        break;
      default:
        check(state);
        if (data[i] < 200) break;
        memory.reset();
        state.raw.clear();
        state.marks.clear();
        if (!state.objects.empty()) std::abort();
        break;
    }
    check_usage(memory.usage(), state);
  }
  check(state);
  return 0;
}
