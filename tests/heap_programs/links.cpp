// SPDX-License-Identifier: MIT
// What was written over the link of a free block leads to a place that is the heap's: into a block
// of the same slab, to a live block there, into a live block of another size, to the heap's
// own records. malloc must hand out none of these; the process is stopped instead.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "public_names.hpp"

namespace {

constexpr std::size_t block_bytes = 48;
constexpr std::size_t large_bytes = 200'000;
unsigned char* blocks[200];

// The lowest mapping that the heap's region can begin with: it is at most 1 TiB long.
std::uintptr_t begin_of_records(std::uintptr_t block) {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  REQUIRE(maps != nullptr);
  char line[512];
  std::uintptr_t found = 0;
  while (found == 0 && std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long begin = 0;
    unsigned long end = 0;
    const bool is_range = std::sscanf(line, "%lx-%lx", &begin, &end) == 2;
    if (is_range && begin <= block && block - begin < std::size_t{1} << 40) found = begin;
  }
  std::fclose(maps);
  REQUIRE(found != 0 && found != block / 65536 * 65536);
  return found;
}

// What the child did: 0, if it was stopped; 3, if it was handed out the target.
int run_child(std::uintptr_t target, bool is_masked) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    close(2);
    unsigned char* overwritten = blocks[100];
    std::free(blocks[90]);
    std::free(overwritten);
    const std::uintptr_t own = reinterpret_cast<std::uintptr_t>(overwritten);
    const std::uintptr_t link = is_masked ? __builtin_bswap64(target) ^ own : target;
    // The misuse that is looked for.
    std::memcpy(overwritten, &link, sizeof link);  // NOLINT(clang-analyzer-unix.Malloc)
    for (int i = 0; i < 1000; ++i) {
      if (reinterpret_cast<std::uintptr_t>(keep(std::malloc(block_bytes))) == target) _exit(3);
    }
    _exit(4);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? 0 : 1 + status;
}

// What a program copies unread may be an old link of the same slab, of whichever block.
void copy_old_link(std::size_t bytes) {
  unsigned char* made[8];
  for (auto& block : made) block = static_cast<unsigned char*>(keep(std::malloc(bytes)));
  for (int i = 0; i < 4; ++i) std::free(made[i]);
  std::uintptr_t links[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&links[i], keep(made[i]), sizeof links[i]);
  for (int i = 0; i < 4; ++i) {
    std::memcpy(made[4 + i], &links[i], sizeof links[i]);
    made[4 + i] = static_cast<unsigned char*>(keep(std::realloc(made[4 + i], 2 * bytes)));
    REQUIRE(made[4 + i] != nullptr);
  }
  for (int i = 4; i < 8; ++i) std::free(made[i]);
}

}  // namespace

int main() {
  for (const std::size_t bytes : {std::size_t{48}, std::size_t{512}, std::size_t{4096}}) copy_old_link(bytes);
  for (auto& block : blocks) block = static_cast<unsigned char*>(keep(std::malloc(block_bytes)));
  auto* large = static_cast<unsigned char*>(keep(std::malloc(large_bytes)));
  const auto own = reinterpret_cast<std::uintptr_t>(blocks[50]);
  const std::uintptr_t targets[] = {own + 8, own, reinterpret_cast<std::uintptr_t>(large) + 1024,
                                    begin_of_records(own) + 64};
  for (const std::uintptr_t target : targets) {
    REQUIRE(run_child(target, false) == 0);
    REQUIRE(run_child(target, true) == 0);  // by one who knows how links are made, but not the key
  }
  std::free(large);
  say("done\n");
  return 0;
}
