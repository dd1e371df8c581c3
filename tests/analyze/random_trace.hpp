// SPDX-License-Identifier: MIT
// Random traces of a simulated heap with several threads: calls overlap,
// addresses come back, some calls fail, some records are missing. Every
// begin and end has a 16 ns quantum of its own, 80 ns from the next: what is
// out of order here is a lost record, never an inversion of close calls.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "memory_trace.hpp"

namespace heapwright::analyze {

class RandomTrace {
 public:
  RandomTrace(std::uint64_t seed, std::uint32_t threads, std::size_t steps) : random_(seed), open_(threads) {
    trace.stacks = 12;
    trace.chunk_events = 1 + random_() % 60;
    for (std::size_t step = 0; step < steps; ++step) {
      const auto thread = static_cast<std::uint32_t>(random_() % threads);
      now_ns_ += 16 * (5 + random_() % (random_() % 20 == 0 ? 10000 : 20));
      open_[thread].kind == trace::EventKind::none ? begin(thread) : end(thread);
    }
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      now_ns_ += 16;
      if (open_[thread].kind != trace::EventKind::none) {
        end(thread);
      }
    }
    trace.seal();
  }

  MemoryTrace trace;

 private:
  bool one_in(std::uint64_t count) { return random_() % count == 0; }

  std::uint64_t take_block() {
    if (live_.empty()) {
      return 0;
    }
    const auto index = one_in(2) ? live_.size() - 1 : random_() % live_.size();
    const auto address = live_[index];
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(index));
    return address;
  }

  std::uint64_t fresh_address() {
    if (!spare_.empty() && !one_in(4)) {
      const auto address = spare_.back();
      spare_.pop_back();
      return address;
    }
    return 0x10000 + 32 * ++addresses_;
  }

  std::uint64_t random_size() {
    switch (random_() % 10) {
      case 0:
        return 0;
      case 1:
        return random_() % 200000;
      case 2:
        return (std::uint64_t{1} << 33) + random_() % 100;
      default:
        return 1 + random_() % 300;
    }
  }

  void begin(std::uint32_t thread) {
    auto& call = open_[thread];
    call = {};
    call.begin_ns = now_ns_;
    call.stack = static_cast<std::uint32_t>(random_() % 12);
    if (one_in(25)) {
      return begin_mapping(call);
    }
    const auto dice = random_() % 20;
    if (dice < 9) {
      call.kind = one_in(3) ? trace::EventKind::new_plain : trace::EventKind::malloc_;
      call.size = random_size();
    } else if (dice < 17) {
      call.kind = one_in(3) ? trace::EventKind::delete_sized : trace::EventKind::free_;
      call.size = call.kind == trace::EventKind::delete_sized ? 1 + random_() % 300 : 0;
      call.address = one_in(50) ? 0xdead000 + random_() % 5 * 16 : take_block();
      if (call.address < 0xdead000 && call.address != 0) {
        spare_.push_back(call.address);
      }
    } else {
      call.kind = trace::EventKind::realloc_;
      call.old_address = take_block();
      call.size = random_size();
      if (one_in(10)) {
        call.size = std::max<std::uint64_t>(call.size, 1);
        fails_ = true;
      } else if (call.old_address != 0 && !one_in(2)) {
        spare_.push_back(call.old_address);  // moves: the old place is free from here on
        call.alignment_log2 = 1;
      }
    }
    if (fails_) {
      // A failed realloc leaves its block.
      call.alignment_log2 = 2;
      if (call.old_address != 0) {
        live_.push_back(call.old_address);
      }
      fails_ = false;
    }
  }

  // Of 64 pages, so that mappings overlap and fall apart.
  void begin_mapping(Call& call) {
    const auto address = [&] { return 0x7f0000000000 + random_() % 64 * 4096; };
    constexpr trace::EventKind kinds[] = {trace::EventKind::mmap_, trace::EventKind::mmap_,
                                          trace::EventKind::munmap_, trace::EventKind::mremap_};
    call.kind = kinds[random_() % 4];
    call.size = 1 + random_() % 40000;
    call.address = one_in(10) ? 0 : address();
    if (call.kind == trace::EventKind::mremap_) {
      call.old_address = address();
      call.usable = 1 + random_() % 40000;
    }
  }

  void end(std::uint32_t thread) {
    auto& call = open_[thread];
    call.duration_ns = static_cast<std::uint32_t>(now_ns_ - call.begin_ns);
    const auto plan = std::exchange(call.alignment_log2, std::uint8_t{0});
    const bool is_realloc = call.kind == trace::EventKind::realloc_;
    const bool is_free = is_realloc && call.size == 0 && call.old_address != 0 && plan == 1;
    if (trace::is_allocation(call.kind) && plan != 2 && !is_free && !one_in(60)) {
      call.address = is_realloc && plan == 0 && call.old_address != 0 ? call.old_address : fresh_address();
      call.usable = call.size + random_() % 24 + (one_in(30) ? 100000 : 0);
      live_.push_back(call.address);
    } else if (is_realloc && plan == 0 && call.old_address != 0) {
      call.size = std::max<std::uint64_t>(call.size, 1);  // failed in place
      live_.push_back(call.old_address);
    }
    const bool is_lost = one_in(100);
    if (!is_lost) {
      trace.add(thread, call);
    }
    call = {};
  }

  std::mt19937_64 random_;
  std::vector<Call> open_;
  std::vector<std::uint64_t> live_;
  std::vector<std::uint64_t> spare_;
  std::uint64_t addresses_ = 0;
  std::uint64_t now_ns_ = 1000000;
  bool fails_ = false;
};

}  // namespace heapwright::analyze
