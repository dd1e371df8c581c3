// SPDX-License-Identifier: MIT
// Buffers for the largest input there may be.
#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "modes.hpp"

namespace {

constexpr std::size_t most_bytes = std::size_t{16} << 20;
constexpr std::size_t used_bytes = std::size_t{1} << 20;

[[gnu::noinline]] std::unique_ptr<char[]> site(std::size_t size) {
  return std::unique_ptr<char[]>(new char[size]);
}

void work(std::size_t size, std::size_t used) {
  std::array<std::unique_ptr<char[]>, 4> buffers;
  for (auto& buffer : buffers) {
    buffer = site(size);
    std::memset(buffer.get(), 1, used);
  }
  // Samples are taken every 100 ms at most.
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  modes::use(buffers[0].get());
  modes::say("requested_bytes", buffers.size() * size);
}

}  // namespace

int main(int argc, char** argv) {
  return modes::run(
      argc, argv, [] { work(most_bytes, used_bytes); }, [] { work(used_bytes, used_bytes); },
      [] { work(most_bytes, most_bytes); });
}
