// SPDX-License-Identifier: MIT
// Shared objects, each with a control block of its own.
#include <memory>
#include <vector>

#include "modes.hpp"

namespace {

constexpr int rounds = 10;
constexpr int objects = 40'000;

struct Session {
  long id;
  char state[48];
};

[[gnu::noinline]] std::shared_ptr<Session> site(int id) {
  return std::shared_ptr<Session>(new Session{id, {}});
}
[[gnu::noinline]] std::shared_ptr<Session> made_in_one(int id) {
  return std::make_shared<Session>(Session{id, {}});
}
// Two blocks as well, but make_shared does not take a deleter.
[[gnu::noinline]] std::shared_ptr<Session> with_deleter(int id) {
  return {new Session{id, {}}, [](Session* session) { delete session; }};
}

template <class Make>
void work(Make make) {
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::shared_ptr<Session>> sessions;
    sessions.reserve(objects);
    for (int id = 0; id < objects; ++id) sessions.push_back(make(id));
    modes::use(sessions.back().get());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return modes::run(
      argc, argv, [] { work(site); }, [] { work(made_in_one); }, [] { work(with_deleter); });
}
