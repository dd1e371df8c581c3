// SPDX-License-Identifier: MIT
#include "heapwright/make_shared_private.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

namespace {

class Session : public std::enable_shared_from_this<Session> {
 public:
  static std::shared_ptr<Session> open(std::string name) {
    return heapwright::make_shared_private<Session>(std::move(name));
  }
  const std::string& name() const { return name_; }
  static inline int live = 0;

 private:
  friend class heapwright::private_access;
  explicit Session(std::string name) : name_(std::move(name)) {
    if (name_ == "bad") throw std::runtime_error("bad");
    ++live;
  }
  ~Session() { --live; }
  std::string name_;
};
static_assert(!std::is_constructible_v<Session, std::string>);

class Keyed {
 public:
  Keyed(heapwright::passkey<Keyed>, int number) : number_(number) {}
  static std::shared_ptr<Keyed> make(int number) {
    return std::make_shared<Keyed>(heapwright::passkey<Keyed>(), number);
  }
  int number() const { return number_; }

 private:
  int number_;
};
static_assert(!std::is_default_constructible_v<heapwright::passkey<Keyed>>);

TEST(MakeSharedPrivate, ReachesPrivateConstructorsInOneBlock) {
  {
    const auto session = Session::open("one");
    EXPECT_EQ(session->name(), "one");
    EXPECT_EQ(session->shared_from_this(), session);
    // One block: the object lies right behind its counts.
    EXPECT_EQ(Session::live, 1);
    EXPECT_THROW(Session::open("bad"), std::runtime_error);
  }
  EXPECT_EQ(Session::live, 0);
  EXPECT_EQ(Keyed::make(3)->number(), 3);
}

TEST(MakeSharedPrivate, MakesWhatIsConst) {
  const std::shared_ptr<const Session> session = heapwright::make_shared_private<const Session>("const");
  EXPECT_EQ(session->name(), "const");
  EXPECT_EQ(*heapwright::make_shared_pooled<const std::string>("text"), "text");
  EXPECT_EQ(*heapwright::make_shared_weakly_held<const std::string>("text"), "text");
}

TEST(MakeSharedPrivate, PooledBlocksAreReusedByTheirThread) {
  const void* first = heapwright::make_shared_pooled<std::string>("text").get();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(heapwright::make_shared_pooled<std::string>("other text, too long to be inline").get(), first);
  }
  std::vector<std::shared_ptr<std::array<int, 30>>> many;
  for (int i = 0; i < 1000; ++i) many.push_back(heapwright::make_shared_pooled<std::array<int, 30>>());
  std::thread([&] { many.clear(); }).join();  // freed elsewhere, at another thread's end
}

TEST(MakeSharedPrivate, LargeWeaklyHeldObjectsGetTwoBlocks) {
  using Small = std::array<char, 100>;
  using Large = std::array<char, 100000>;
  static_assert(!heapwright::prefers_two_blocks_when_weakly_held<Small>);
  static_assert(heapwright::prefers_two_blocks_when_weakly_held<Large>);
  static_assert(!heapwright::prefers_two_blocks_when_weakly_held<std::array<char, 4096>>);
  std::weak_ptr<Large> watching;
  {
    const auto large = heapwright::make_shared_weakly_held<Large>();
    watching = large;
    EXPECT_EQ(large->size(), 100000U);
  }
  EXPECT_TRUE(watching.expired());
  EXPECT_EQ(heapwright::make_shared_weakly_held<Small>()->size(), 100U);
}

}  // namespace
