// SPDX-License-Identifier: MIT
// Objects of one size, a few at once, made and freed again and again.
#include "heapwright/object_pool.hpp"

#include <array>
#include <memory>
#include <vector>

#include "modes.hpp"

namespace {

constexpr int requests = 400'000;
constexpr std::size_t at_once = 50;

struct Request {
  char body[2000];
  std::vector<int> fields;
  static constexpr auto pool_members = heapwright::members(&Request::fields);
};

[[gnu::noinline]] std::unique_ptr<Request> site() { return std::unique_ptr<Request>(new Request); }

void made_anew() {
  std::array<std::unique_ptr<Request>, at_once> open;
  modes::Random random;
  for (int request = 0; request < requests; ++request) {
    auto& place = open[random.below(at_once)];
    place = nullptr;
    place = site();
    place->body[0] = 1;
    modes::use(place.get());
  }
}

void from_a_pool() {
  heapwright::object_pool<Request> pool({.max_idle = at_once});
  std::array<decltype(pool.acquire()), at_once> open;
  modes::Random random;
  for (int request = 0; request < requests; ++request) {
    auto& place = open[random.below(at_once)];
    place = nullptr;
    place = pool.acquire();
    place->body[0] = 1;
    modes::use(place.get());
  }
}

// Of one size as well, but they stay.
void kept() {
  std::vector<std::unique_ptr<Request>> all;
  for (int request = 0; request < requests / 20; ++request) {
    all.push_back(site());
    all.back()->body[0] = 1;
  }
  modes::use(all.back().get());
}

}  // namespace

int main(int argc, char** argv) { return modes::run(argc, argv, made_anew, from_a_pool, kept); }
