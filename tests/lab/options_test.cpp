// SPDX-License-Identifier: MIT
#include "lab/options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace heapwright::lab {
namespace {

constexpr Parameter parameters[] = {{"blocks", "1000", true}, {"threads", "2"}, {"policy", "first"}};

// The arguments live as long as the options that view them.
struct Parsed {
  explicit Parsed(std::vector<std::string> given) : texts(std::move(given)) {
    for (std::string& text : texts) pointers.push_back(text.data());
  }
  Options options() { return Options(parameters, pointers); }
  std::vector<std::string> texts;
  std::vector<char*> pointers;
};

TEST(Options, DefaultsHoldUntilChanged) {
  EXPECT_EQ(Parsed({}).options().count("blocks"), 1000u);
  Parsed changed({"--blocks", "30", "--threads", "4"});
  EXPECT_EQ(changed.options().count("blocks"), 30u);
  EXPECT_EQ(changed.options().count("threads"), 4u);
}

TEST(Options, ScaleMultipliesSizesAndNothingElse) {
  Parsed scaled({"--scale", "0.01"});
  EXPECT_EQ(scaled.options().count("blocks"), 10u);
  EXPECT_EQ(scaled.options().count("threads"), 2u);
  Parsed tiny({"--scale", "0.0000001"});
  EXPECT_EQ(tiny.options().count("blocks"), 1u);
}

TEST(Options, ChoiceIsAPosition) {
  EXPECT_EQ(Parsed({"--policy", "second"}).options().choice("policy", {"first", "second"}), 1u);
}

TEST(Options, PinsOnlyWhenTold) {
  EXPECT_EQ(Parsed({}).options().pin_cpu(), -1);
  EXPECT_EQ(Parsed({"--pin-cpu", "1"}).options().pin_cpu(), 1);
}

TEST(OptionsDeathTest, BadInputIsOneLineAndExitCodeTwo) {
  const auto exits = testing::ExitedWithCode(2);
  EXPECT_EXIT(Parsed({"--block", "1"}).options(), exits,
              "no parameter --block; this experiment has: .*blocks");
  EXPECT_EXIT(Parsed({"--blocks"}).options(), exits, "--blocks needs a value");
  EXPECT_EXIT(Parsed({"blocks", "1"}).options(), exits, "'blocks' is not an option");
  EXPECT_EXIT(Parsed({"--blocks", "ten"}).options().count("blocks"), exits, "is not a whole number");
  EXPECT_EXIT(Parsed({"--blocks", "-1"}).options().count("blocks"), exits, "is not a whole number");
  EXPECT_EXIT(Parsed({"--blocks", "9999999999999"}).options().count("blocks"), exits, "up to 10.12");
  EXPECT_EXIT(Parsed({"--scale", "0"}).options(), exits, "not a number above 0");
  EXPECT_EXIT(Parsed({"--scale", "nan"}).options(), exits, "not a number above 0");
  EXPECT_EXIT(Parsed({"--policy", "third"}).options().choice("policy", {"first"}), exits, "third is unknown");
}

TEST(OptionsDeathTest, TheAllocatorsFailureHasAnotherExitCode) {
  EXPECT_EXIT(figures::give_up("malloc(%d) failed", 8), testing::ExitedWithCode(1), "malloc.8. failed");
}

}  // namespace
}  // namespace heapwright::lab
