// SPDX-License-Identifier: MIT
// When a process is scanned again: of one that changes its memory while it is scanned.
#include "collect/residency_scanner.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <new>
#include <string>
#include <thread>

namespace heapwright::collect {
namespace {

constexpr std::size_t touched_bytes = std::size_t{64} << 20;
// Longer than the period of scans: its shortest, and how often a scan's own time.
constexpr std::chrono::milliseconds shortest_rest{150};
constexpr int rest_in_scans = 60;

// Has touched its memory, and gives it back when told to. Rests otherwise.
class Child {
 public:
  Child() {
    EXPECT_EQ(pipe(to_child_.data()), 0);
    EXPECT_EQ(pipe(from_child_.data()), 0);
    id_ = fork();
    if (id_ == 0) live();
    wait();
  }
  ~Child() {
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
    for (const int file : {to_child_[0], to_child_[1], from_child_[0], from_child_[1]}) close(file);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::uint32_t id() const { return static_cast<std::uint32_t>(id_); }
  void give_back() {
    EXPECT_EQ(write(to_child_[1], "g", 1), 1);
    wait();
  }

 private:
  void wait() {
    char done = 0;
    EXPECT_EQ(read(from_child_[0], &done, 1), 1);
  }
  [[noreturn]] void live() {
    void* const memory = mmap(nullptr, touched_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    char word = 0;
    if (memory == MAP_FAILED || write(from_child_[1], "r", 1) != 1) _exit(1);
    if (read(to_child_[0], &word, 1) != 1) _exit(1);
    madvise(memory, touched_bytes, MADV_DONTNEED);
    if (write(from_child_[1], "d", 1) != 1) _exit(1);
    for (;;) pause();
  }

  std::array<int, 2> to_child_{};
  std::array<int, 2> from_child_{};
  pid_t id_ = 0;
};

// Too large to be zeroed: most of it is never touched.
class Block {
 public:
  Block()
      : memory_(mmap(nullptr, sizeof(session::ProcessBlock), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Block() { munmap(memory_, sizeof(session::ProcessBlock)); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  session::ProcessBlock& get() { return *static_cast<session::ProcessBlock*>(memory_); }

 private:
  void* memory_;
};

class ResidencyScannerTest : public ::testing::Test {
 protected:
  ResidencyScannerTest() { clock_.calibrate(); }
  ~ResidencyScannerTest() override { std::filesystem::remove(file_.path()); }

  // Whether a scan began; no heap calls come in between.
  bool begins() {
    begin_ = std::chrono::steady_clock::now();
    scanner_.begin_if_due(watch_, file_, 1, 1);
    return scanner_.is_scanning();
  }
  void go_on_to_the_end() {
    while (scanner_.is_scanning()) scanner_.step(watch_, file_);
    scan_ = std::chrono::steady_clock::now() - begin_;
  }
  // Until the next scan would be due, however slow the scans are here (ASan).
  void rest() const {
    std::this_thread::sleep_for(
        std::max<std::chrono::steady_clock::duration>(shortest_rest, rest_in_scans * scan_));
  }

  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::duration scan_{};
  Child child_;
  TickClock clock_;
  ProcessWatch watch_{child_.id()};
  Block block_;
  TraceFile file_{::testing::TempDir() + "scanner." + std::to_string(getpid()), true};
  ResidencyScanner scanner_{watch_.memory_folder(), block_.get(), clock_, true};
};

TEST_F(ResidencyScannerTest, AProcessThatRestsIsScannedOnce) {
  ASSERT_TRUE(begins());
  go_on_to_the_end();
  rest();
  EXPECT_FALSE(begins());
}

// The collector takes the last snapshot before it lets the program go.
TEST_F(ResidencyScannerTest, AnExitThatWasNotNotedYetIsNotServed) {
  ASSERT_TRUE(begins());
  go_on_to_the_end();
  EXPECT_FALSE(scanner_.note_exit());
  block_.get().scan_request.store(1 * session::scan_request_step | session::scan_before_exit);
  EXPECT_FALSE(begins());
  EXPECT_EQ(block_.get().scans_served.load(), 0U);
  EXPECT_TRUE(scanner_.note_exit());
  EXPECT_TRUE(begins());
  go_on_to_the_end();
  EXPECT_EQ(block_.get().scans_served.load(), 1U);
}

// The scan has pages that are gone at its end; nothing changes after it.
TEST_F(ResidencyScannerTest, AProcessThatChangedMeanwhileIsScannedAgain) {
  ASSERT_TRUE(begins());
  scanner_.step(watch_, file_);
  ASSERT_TRUE(scanner_.is_scanning());
  child_.give_back();
  go_on_to_the_end();
  rest();
  EXPECT_TRUE(begins());
  go_on_to_the_end();
  rest();
  EXPECT_FALSE(begins());
}

}  // namespace
}  // namespace heapwright::collect
