// SPDX-License-Identifier: MIT
// A producer that writes the session as src/session/layout.hpp says, with
// nothing of src/record: the collector is tested against the contract.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "platform/clock.hpp"
#include "platform/futex.hpp"
#include "session/layout.hpp"
#include "trace/event_kind.hpp"

namespace heapwright::collect::testing {

class FakeRecorder {
 public:
  // Claims a block; throws when the session cannot be had.
  explicit FakeRecorder(const std::string& session_path, bool is_fork_child = false) {
    const int file = open(session_path.substr(0, session_path.find(':')).c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) throw std::runtime_error("no session at " + session_path);
    control_ = static_cast<session::Control*>(map(file, 0, session::control_bytes));
    const std::uint32_t first = control_->next_process_hint.fetch_add(1);
    for (std::uint32_t probe = 0; probe < session::max_processes && block_ == nullptr; ++probe) {
      const std::uint32_t index = (first + probe) % session::max_processes;
      auto* block = static_cast<session::ProcessBlock*>(
          map(file, session::process_offset(index), sizeof(session::ProcessBlock)));
      std::uint32_t expected = session::process_unused;
      if (block->state.compare_exchange_strong(expected, session::process_claimed)) {
        block_ = block;
      } else {
        munmap(block, sizeof *block);
      }
    }
    close(file);
    if (block_ == nullptr) throw std::runtime_error("no free block");
    block_->process_id = static_cast<std::uint32_t>(getpid());
    block_->parent_process_id = static_cast<std::uint32_t>(getppid());
    block_->is_fork_child = is_fork_child ? 1 : 0;
    block_->start_ticks = ticks();
    std::strcpy(block_->executable, "/fake/program");
    std::strcpy(block_->allocator, "fake 1.0");
    block_->state.store(session::process_live, std::memory_order_release);
    wake_collector();
  }

  session::Control& control() { return *control_; }
  session::ProcessBlock& block() { return *block_; }

  std::uint64_t ticks() const { return platform::read_ticks((control_->flags & session::clock_is_tsc) != 0); }

  void wake_collector() {
    if (control_->collector_sleeps.exchange(0) != 0) platform::futex_wake(control_->collector_sleeps);
  }

  // Claims lane `index` for the calling thread.
  session::Lane& claim_lane(std::uint32_t index) {
    session::Lane& lane = block_->lanes[index];
    lane.head.store(0);
    lane.tail.store(0);
    lane.dropped_full.store(0);
    lane.dropped_reentrant.store(0);
    lane.thread_id = static_cast<std::uint32_t>(gettid());
    lane.first_ticks = ticks();
    lane.generation.fetch_add(1);
    std::uint32_t count = block_->lane_count.load();
    while (count <= index && !block_->lane_count.compare_exchange_weak(count, index + 1)) {
    }
    lane.state.store(session::lane_live, std::memory_order_release);
    return lane;
  }

  // A module, a frame inside it, and a stack of that one frame under `parent`.
  void add_module(std::uint32_t index, std::uint64_t start, std::uint64_t end, const char* path) {
    session::ModuleEntry& entry = block_->modules[index];
    entry.start = start;
    entry.end = end;
    entry.bias = start;
    entry.loaded_ticks = ticks();
    entry.build_id_bytes = 3;
    std::memcpy(entry.build_id, "\x01\xab\xff", 3);
    std::strcpy(entry.path, path);
    entry.state.store(2, std::memory_order_release);
    block_->module_count.store(index + 1, std::memory_order_release);
  }
  void add_frame(std::uint32_t number, std::uint64_t pc) {
    for (std::uint32_t i = 0; i < block_->module_count.load(); ++i) {
      const session::ModuleEntry& module = block_->modules[i];
      if (pc >= module.start && pc < module.end)
        block_->pc_modules[number] = static_cast<std::uint16_t>(i + 1);
    }
    block_->pcs[number].key.store(pc, std::memory_order_release);
  }
  void add_node(std::uint32_t node, std::uint32_t parent, std::uint32_t frame_number) {
    block_->nodes[node].store(std::uint64_t{parent} << 32 | (frame_number + 1), std::memory_order_release);
  }

  std::uint64_t ring_of(const session::Lane& lane) const {
    return session::ring_slots_of(static_cast<std::uint32_t>(&lane - block_->lanes));
  }
  // False when the collector has closed the session.
  bool wait_for_room(session::Lane& lane, std::uint64_t slots) {
    while (lane.head.load() - lane.tail.load(std::memory_order_acquire) + slots > ring_of(lane)) {
      lane.is_waiting.store(1);
      const std::uint32_t seen = lane.space_futex.load();
      const bool is_full = lane.head.load() - lane.tail.load() + slots > ring_of(lane);
      if (is_full) {
        if (control_->is_closed.load() != 0) return false;
        wake_collector();
        platform::futex_wait(lane.space_futex, seen, 10'000'000);
      }
      lane.is_waiting.store(0);
    }
    return true;
  }

  static session::RawEvent event(trace::EventKind kind, std::uint64_t begin_ticks, std::uint64_t address,
                                 std::uint32_t size, std::uint32_t excess = 0, std::uint32_t node = 0,
                                 std::uint32_t duration = 0) {
    return {begin_ticks, address << 16 | static_cast<std::uint8_t>(kind), size, excess, node, duration};
  }

  bool emit(session::Lane& lane, const session::RawEvent& event) {
    if (!wait_for_room(lane, 1)) return false;
    const std::uint64_t head = lane.head.load(std::memory_order_relaxed);
    lane.ring[head % ring_of(lane)] = event;
    lane.head.store(head + 1, std::memory_order_release);
    return true;
  }

  bool emit_extended(session::Lane& lane, const session::RawExtension& extension,
                     const session::RawEvent& event) {
    if (!wait_for_room(lane, 2)) return false;
    const std::uint64_t head = lane.head.load(std::memory_order_relaxed);
    std::memcpy(static_cast<void*>(&lane.ring[head % ring_of(lane)]), &extension, sizeof extension);
    lane.ring[(head + 1) % ring_of(lane)] = event;
    lane.head.store(head + 2, std::memory_order_release);
    return true;
  }

 private:
  static void* map(int file, std::uint64_t offset, std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file,
                        static_cast<off_t>(offset));
    if (memory == MAP_FAILED) throw std::runtime_error("cannot map the session");
    return memory;
  }

  session::Control* control_ = nullptr;
  session::ProcessBlock* block_ = nullptr;
};

}  // namespace heapwright::collect::testing
