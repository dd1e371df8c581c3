// SPDX-License-Identifier: MIT
// Claims every free block of its own session, as 4,096 processes would that
// run at once. Forks three children, gives the blocks back, forks a fourth.
#include <fcntl.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "say.hpp"
#include "session/layout.hpp"

namespace session = heapwright::session;

namespace {

off_t state_of(std::uint32_t block) {
  return static_cast<off_t>(session::process_offset(block) + offsetof(session::ProcessBlock, state));
}

// Every block that is in state `from`.
void set_all(int file, std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t block = 0; block < session::max_processes; ++block) {
    std::uint32_t state = 0;
    REQUIRE(pread(file, &state, sizeof state, state_of(block)) == sizeof state);
    if (state == from) REQUIRE(pwrite(file, &to, sizeof to, state_of(block)) == sizeof to);
  }
}

void fork_one() {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::free(keep(std::malloc(3019)));
    _exit(0);
  }
  REQUIRE(waitpid(child, nullptr, 0) == child);
}

}  // namespace

int main() {
  std::free(keep(std::malloc(3001)));
  const std::string text = std::getenv(session::session_variable);
  const int file = open(text.substr(0, text.find(':')).c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(file >= 0);
  set_all(file, session::process_unused, session::process_claimed);
  for (int child = 0; child < 3; ++child) fork_one();
  set_all(file, session::process_claimed, session::process_unused);
  fork_one();
  return 0;
}
