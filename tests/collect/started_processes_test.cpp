// SPDX-License-Identifier: MIT
#include "collect/started_processes.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

namespace heapwright::collect {
namespace {

std::uint32_t an_ended_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return static_cast<std::uint32_t>(child);
}

// The claims that a process leaves when it is killed before it tells what became of them.
class StartedProcessesClaims : public ::testing::Test {
 protected:
  void claim(std::uint32_t kind, const char* program) {
    const std::uint32_t number = control_->next_start_number.fetch_add(1);
    session::StartEntry& entry = control_->starts[number];
    entry.owner_process_id.store(owner_);
    entry.kind.store(kind);
    std::snprintf(entry.program, sizeof entry.program, "%s", program);
    entry.word.store(std::uint64_t{number + 1} << 32);
  }

  std::vector<UnrecordedProcess> listed() {
    ProcessIds ids(0);
    StartedProcesses started(ids, 1, "/recorder");
    started.finish(*control_, 1);
    return started.unrecorded();
  }

  std::unique_ptr<session::Control> control_ = std::make_unique<session::Control>();
  std::uint32_t owner_ = an_ended_process();
};

TEST_F(StartedProcessesClaims, OfAForkIsAStart) {
  claim(session::start_forked, "");
  ASSERT_EQ(listed().size(), 1u);
}

TEST_F(StartedProcessesClaims, OfASpawnIsAStartWithItsProgram) {
  claim(session::start_spawned, "/bin/worker");
  const auto processes = listed();
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].program, "/bin/worker");
  EXPECT_EQ(processes[0].parent_process_id, owner_);
}

TEST_F(StartedProcessesClaims, OfAnExecIsNoFurtherProcess) {
  claim(session::start_exec, "/bin/next");
  EXPECT_TRUE(listed().empty());
}

TEST_F(StartedProcessesClaims, NotYetWrittenSaysNothing) {
  claim(0, "");
  EXPECT_TRUE(listed().empty());
}

// A process may end between the look at the recordings and the look at the starts.
TEST(StartedProcesses, AnImageThatWasLeftIsKnownAfterItsProcessIsGone) {
  const auto control = std::make_unique<session::Control>();
  const std::uint32_t process = an_ended_process();
  ProcessIds ids(0);
  StartedProcesses started(ids, 1, "/recorder");
  started.set_recorded(process, 10);
  session::StartEntry& entry = control->starts[0];
  control->next_start_number.store(1);
  control->start_note_count.store(1);
  entry.owner_process_id.store(process);
  entry.kind.store(session::start_exec);
  entry.ticks = 20;
  entry.word.store(std::uint64_t{1} << 32 | process);
  started.take(*control, 1);
  EXPECT_TRUE(started.has_left_its_image(process));
  constexpr std::uint64_t a_second_ns = 1'000'000'000;
  EXPECT_TRUE(started.is_between_images(process, a_second_ns));
  EXPECT_FALSE(started.is_between_images(process, a_second_ns + 1));
  ASSERT_TRUE(started.look(*control, 1));
  started.end_gone();
  EXPECT_EQ(started.unrecorded().size(), 1u);
  EXPECT_TRUE(started.has_left_its_image(process));
  EXPECT_FALSE(started.is_between_images(process, 1));
  started.set_recorded(process, 30);  // of another process with its id
  EXPECT_FALSE(started.has_left_its_image(process));
}

}  // namespace
}  // namespace heapwright::collect
