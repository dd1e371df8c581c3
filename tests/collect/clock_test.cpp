// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "collect/tick_clock.hpp"

namespace heapwright::collect {
namespace {

TEST(TickConversion, MultipliesWithoutOverflow) {
  const TickConversion conversion{1000, (1ULL << 32) / 4};
  EXPECT_EQ(conversion.since_epoch_ns(1000), 0U);
  EXPECT_EQ(conversion.since_epoch_ns(1004), 1U);
  EXPECT_EQ(conversion.since_epoch_ns(1000 + (1ULL << 60)), 1ULL << 58);
}

TEST(TickConversion, TakesAnyTicks) {
  const TickConversion conversion{1000, 10ULL << 32};
  EXPECT_EQ(conversion.since_epoch_ns(3), 0U);
  EXPECT_EQ(conversion.since_epoch_ns(~0ULL), TickConversion::longest_ns);
}

TEST(TickClock, RunsWithTheMonotonicClock) {
  TickClock clock;
  clock.calibrate();
  EXPECT_GT(clock.now_ns(), 0U);
  // A few ppm are measured; a wrong unit or a swapped reading is far off.
  EXPECT_LT(std::abs(clock.drift_ppm()), 2000.0);
  EXPECT_LT(clock.error_ppm(), 2000.0);
  EXPECT_GT(clock.start_unix_ns(), 1'500'000'000'000'000'000ULL);
}

class ClockSource : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = ::testing::TempDir() + "heapwright-clock-" + std::to_string(getpid()) + name;
    std::ofstream(path) << text;
    paths_.push_back(path);
    return path;
  }
  ~ClockSource() override {
    for (const std::string& path : paths_) std::filesystem::remove(path);
  }

 private:
  std::vector<std::string> paths_;
};

TEST_F(ClockSource, NeedsTheKernelsTrustAndBothFlags) {
  const std::string tsc = write("tsc", "tsc\n");
  const std::string hpet = write("hpet", "hpet\n");
  const std::string good = write("good", "processor\t: 0\nflags\t\t: fpu constant_tsc nonstop_tsc\n");
  const std::string sleepy = write("sleepy", "processor\t: 0\nflags\t\t: fpu constant_tsc rdtscp\n");
  EXPECT_TRUE(is_tsc_reliable(tsc, good));
  EXPECT_FALSE(is_tsc_reliable(hpet, good));
  EXPECT_FALSE(is_tsc_reliable(tsc, sleepy));
  EXPECT_FALSE(is_tsc_reliable("/nonexistent", good));
  EXPECT_FALSE(is_tsc_reliable(tsc, "/nonexistent"));
}

}  // namespace
}  // namespace heapwright::collect
