// SPDX-License-Identifier: MIT
// A program that the collector starts in tests. Its first argument names what
// it does; it writes to the session by itself instead of being preloaded.
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fake_recorder.hpp"

namespace {

using heapwright::collect::testing::FakeRecorder;
using heapwright::trace::EventKind;
namespace session = heapwright::session;

std::string session_path() {
  const char* path = getenv(session::session_variable);
  return path != nullptr ? path : "";
}

// Event i of a lane: an allocation of i bytes at 16 * (i + 1), or its release.
session::RawEvent numbered(const FakeRecorder& recorder, std::uint64_t i) {
  const EventKind kind = i % 2 == 0 ? EventKind::malloc_ : EventKind::free_;
  return FakeRecorder::event(kind, recorder.ticks(), 16 * (i + 1),
                             kind == EventKind::malloc_ ? static_cast<std::uint32_t>(i) : 0,
                             kind == EventKind::malloc_ ? 8 : 0, 0, 100);
}

void emit_numbered(FakeRecorder& recorder, std::uint32_t lane_index, std::uint64_t count) {
  session::Lane& lane = recorder.claim_lane(lane_index);
  for (std::uint64_t i = 0; i < count; ++i) recorder.emit(lane, numbered(recorder, i));
}

int events(int threads, std::uint64_t count) {
  FakeRecorder recorder(session_path());
  std::vector<std::jthread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] { emit_numbered(recorder, static_cast<std::uint32_t>(t), count); });
  }
  return 0;
}

// One lane, used by one thread after the other.
int lane_reuse(int generations, std::uint64_t count) {
  FakeRecorder recorder(session_path());
  for (int g = 0; g < generations; ++g) {
    std::thread([&] {
      emit_numbered(recorder, 0, count);
      recorder.block().lanes[0].state.store(session::lane_exiting);
    }).join();
    while (recorder.block().lanes[0].state.load() != session::lane_unused &&
           recorder.control().is_closed.load() == 0) {
      recorder.wake_collector();
      usleep(200);
    }
  }
  return 0;
}

int exec_self(const char* program, std::uint64_t count) {
  {
    FakeRecorder recorder(session_path());
    emit_numbered(recorder, 0, count);
  }
  execl(program, program, "events", "1", "7", nullptr);
  return 1;
}

int forks(int children, std::uint64_t count) {
  FakeRecorder recorder(session_path());
  emit_numbered(recorder, 0, count);
  for (int i = 0; i < children; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      FakeRecorder own(session_path(), true);
      emit_numbered(own, 0, 3);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  return 0;
}

// A child that outlives its parent.
int orphan(int milliseconds) {
  FakeRecorder recorder(session_path());
  emit_numbered(recorder, 0, 1);
  int ready[2];
  if (pipe(ready) != 0) return 1;
  if (fork() != 0) {
    // Not before the child has its block: a session without one may end.
    char byte = 0;
    return read(ready[0], &byte, 1) == 1 ? 5 : 1;
  }
  FakeRecorder own(session_path(), true);
  emit_numbered(own, 0, 1);
  if (write(ready[1], "r", 1) != 1) return 1;
  usleep(static_cast<useconds_t>(milliseconds) * 1000);
  own.emit(own.block().lanes[0], numbered(own, 1));
  _exit(0);
}

// Publishes how many events it has written, after each of them.
int endless(const char* progress_path) {
  FakeRecorder recorder(session_path());
  const int file = open(progress_path, O_RDWR);
  auto* progress =
      static_cast<std::atomic<std::uint64_t>*>(mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  session::Lane& lane = recorder.claim_lane(0);
  for (std::uint64_t i = 0;; ++i) {
    while (recorder.control().is_recording.load() == 0) {
      if (recorder.control().is_closed.load() != 0) return 4;
      usleep(1000);
    }
    if (!recorder.emit(lane, numbered(recorder, i))) return 4;
    progress->store(i + 1);
  }
}

// `count` blocks that stay, then others that come and go, of threads that come and go as well: until a signal
// ends it, or for `rounds`.
int churn(std::uint64_t count, std::uint64_t rounds, std::uint64_t pause_us) {
  FakeRecorder recorder(session_path());
  session::Lane& lane = recorder.claim_lane(0);
  std::mt19937_64 random(1);
  const auto emit = [&](session::Lane& of, EventKind kind, std::uint64_t address) {
    if (recorder.control().is_recording.load() == 0) return;
    // Of random sizes a trace has some bytes for each.
    const auto size = static_cast<std::uint32_t>(kind == EventKind::malloc_ ? random() : 0);
    recorder.emit(of, FakeRecorder::event(kind, recorder.ticks(), address, size));
  };
  for (std::uint64_t i = 0; i < count; ++i) emit(lane, EventKind::malloc_, 0x1000 + 16 * i);
  for (std::uint64_t round = 0; round != rounds; ++round) {
    std::thread([&] {
      session::Lane& own = recorder.claim_lane(1);
      constexpr std::uint64_t later = 100;
      for (std::uint64_t i = 0; i < 5000 + later; ++i) {
        const auto address = [&](std::uint64_t of) {
          return 0x4000'0000 + 16 * ((round * 5000 + of) % 100'000);
        };
        if (i < 5000) emit(own, EventKind::malloc_, address(i));
        if (i < later) continue;
        // A third goes in another thread.
        emit(i % 3 == 0 ? lane : own, EventKind::free_, address(i - later));
      }
      recorder.block().lanes[1].state.store(session::lane_exiting);
    }).join();
    while (recorder.block().lanes[1].state.load() != session::lane_unused) {
      if (recorder.control().is_closed.load() != 0) return 4;
      recorder.wake_collector();
      usleep(200);
    }
    usleep(static_cast<useconds_t>(pause_us));
  }
  return 0;
}

// Some events, then nothing until a signal ends it.
int pause_after(std::uint64_t count) {
  FakeRecorder recorder(session_path());
  emit_numbered(recorder, 0, count);
  return pause();
}

// Random bytes all over what a program could reach, while the collector reads.
int garbage(unsigned seed, int rounds) {
  FakeRecorder recorder(session_path());
  emit_numbered(recorder, 0, 1000);
  std::mt19937_64 random(seed);
  session::ProcessBlock& block = recorder.block();
  for (int round = 0; round < rounds; ++round) {
    block.lane_count.store(static_cast<std::uint32_t>(random() % 40));
    block.module_count.store(static_cast<std::uint32_t>(random()));
    session::Lane& lane = block.lanes[random() % 32];
    lane.head.store(random() % 3 == 0 ? random() : lane.head.load() + random() % 9000);
    lane.generation.store(static_cast<std::uint32_t>(random() % 3));
    lane.thread_id =
        static_cast<std::uint32_t>(random() % 2 == 0 ? random() : static_cast<std::uint64_t>(gettid()));
    lane.state.store(static_cast<std::uint32_t>(random() % 4));
    auto* words = reinterpret_cast<std::uint64_t*>(lane.ring);
    for (int i = 0; i < 4000; ++i) {
      words[random() % (sizeof lane.ring / 8)] = random() % 4 == 0 ? random() : random() % 100000;
    }
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t parent = random() % 200;
      block.nodes[random() % 200].store(parent << 32 | static_cast<std::uint32_t>(random() % (1U << 18)));
      block.pcs[random() % session::pc_table_slots].key.store(random());
      auto* module = reinterpret_cast<std::uint64_t*>(&block.modules[random() % 64]);
      module[random() % (sizeof(session::ModuleEntry) / 8)] = random() % 2 == 0 ? 2 : random();
    }
    recorder.wake_collector();
  }
  std::memset(block.executable, '%', sizeof block.executable);
  std::memset(static_cast<void*>(&recorder.control().next_process_hint), 0xff, 4);
  return 9;
}

// Touches every third page of a mapping, says where it lies, asks for a scan as at exit and
// waits for it: 0 when the collector has answered. `count` touched pages.
int pages(std::uint64_t count) {
  FakeRecorder recorder(session_path());
  constexpr std::size_t page_bytes = 4096;
  const std::size_t bytes = 3 * count * page_bytes;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  volatile char* const bytes_of_it = static_cast<char*>(memory);
  char read = 0;
  for (std::size_t page = 0; page < 3 * count; ++page) {
    if (page % 3 == 0) bytes_of_it[page * page_bytes] = 1;
    if (page % 3 == 1) read = bytes_of_it[page * page_bytes];  // the kernel's page of zeros
  }
  std::printf("%lx\n", reinterpret_cast<unsigned long>(memory) + static_cast<unsigned long>(read));
  std::fflush(stdout);
  // What is seen for a while, and gone at the end.
  void* const freed = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(freed, 1, bytes);
  usleep(300'000);
  munmap(freed, bytes);
  recorder.block().scan_request.store(7 * session::scan_request_step | session::scan_before_exit);
  recorder.wake_collector();
  for (int at_ms = 0; at_ms < 10'000 && recorder.block().scans_served.load() != 7; ++at_ms) usleep(1000);
  return recorder.block().scans_served.load() == 7 ? 0 : 1;
}

int print_environment() {
  // What a program inherits, for comparison with a run without the collector.
  std::system(
      "cat /proc/self/status | grep -E '^(SigBlk|SigIgn|SigCgt)'; ulimit -n; ulimit -v; ls /proc/self/fd | "
      "wc -l");
  return 0;
}

}  // namespace

int main(int count, char** values) {
  const std::string what = count > 1 ? values[1] : "";
  const auto number = [&](int index) { return count > index ? strtoull(values[index], nullptr, 10) : 0; };
  if (what == "events") return events(static_cast<int>(number(2)), number(3));
  if (what == "lane-reuse") return lane_reuse(static_cast<int>(number(2)), number(3));
  if (what == "exec") return exec_self(values[0], number(2));
  if (what == "forks") return forks(static_cast<int>(number(2)), number(3));
  if (what == "orphan") return orphan(static_cast<int>(number(2)));
  if (what == "endless" && count > 2) return endless(values[2]);
  if (what == "churn") return churn(number(2), number(3), number(4));
  if (what == "pause") return pause_after(number(2));
  if (what == "garbage") return garbage(static_cast<unsigned>(number(2)), static_cast<int>(number(3)));
  if (what == "pages") return pages(number(2));
  if (what == "environment") return print_environment();
  return 1;
}
