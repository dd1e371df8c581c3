// SPDX-License-Identifier: MIT
#include "collect/switch_history.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "session/switching.hpp"

namespace heapwright::collect {
namespace {

class SwitchHistoryTest : public ::testing::Test {
 protected:
  SwitchHistoryTest() {
    clock_.calibrate();
    history_.begin(*control_, true);
  }
  void program_switches(bool is_on) {
    session::switch_recording(*control_, is_on, [this] { return clock_.now_ticks(); });
  }
  std::unique_ptr<session::Control> control_ = std::make_unique<session::Control>();
  TickClock clock_;
  SwitchHistory history_;
};

TEST_F(SwitchHistoryTest, EveryPauseBetweenTwoLooksIsThere) {
  for (int pause = 0; pause < 100; ++pause) {
    program_switches(false);
    program_switches(true);
    program_switches(true);
  }
  history_.read(*control_, clock_);
  ASSERT_EQ(history_.all().size(), 200U);
  for (std::size_t number = 1; number < 200; ++number) {
    EXPECT_EQ(history_.all()[number].is_on, number % 2 == 1);
    EXPECT_GE(history_.all()[number].time_ns, history_.all()[number - 1].time_ns);
  }
  EXPECT_TRUE(history_.is_on());
}

TEST_F(SwitchHistoryTest, ASessionThatBeginsPausedIsOffFromZero) {
  SwitchHistory paused;
  paused.begin(*control_, false);
  paused.switch_to(*control_, clock_, true);
  ASSERT_EQ(paused.all().size(), 2U);
  EXPECT_EQ(paused.all()[0].time_ns, 0U);
  EXPECT_FALSE(paused.all()[0].is_on);
  EXPECT_GT(paused.all()[1].time_ns, 0U);
}

TEST_F(SwitchHistoryTest, MoreSwitchesThanTheLogHoldsCountAsOff) {
  program_switches(false);
  program_switches(true);
  history_.read(*control_, clock_);
  const auto known_ns = history_.all().back().time_ns;
  for (int pause = 0; pause < 1000; ++pause) {
    program_switches(false);
    program_switches(true);
  }
  history_.read(*control_, clock_);
  ASSERT_EQ(history_.all().size(), 4U);
  EXPECT_EQ(history_.all()[2].time_ns, known_ns);
  EXPECT_FALSE(history_.all()[2].is_on);
  EXPECT_TRUE(history_.all()[3].is_on);
  EXPECT_GT(history_.all()[3].time_ns, known_ns);
}

TEST_F(SwitchHistoryTest, AScribbledLogCrashesNothing) {
  control_->switch_log.count = 17;
  for (auto& entry : control_->switch_log.entries) entry = UINT64_MAX;
  history_.read(*control_, clock_);
  control_->switch_log.count = 5;
  history_.read(*control_, clock_);
  EXPECT_LE(history_.all().size(), 300U);
  for (const trace::Switch& change : history_.all()) EXPECT_LE(change.time_ns, clock_.now_ns());
}

}  // namespace
}  // namespace heapwright::collect
