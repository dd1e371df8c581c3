// SPDX-License-Identifier: MIT
// Planted: each channel has a buffer for the largest message there may be, and uses a thousandth of it.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

[[gnu::noinline]] char* open_channel() {
  auto* buffer = static_cast<char*>(std::malloc(std::size_t{16} << 20));
  std::memset(buffer, 1, 16'000);
  return buffer;
}

int main() {
  std::vector<char*> channels;
  for (int channel = 0; channel < 24; ++channel) {
    channels.push_back(open_channel());
  }
  const timespec rest{1, 200'000'000};
  nanosleep(&rest, nullptr);
  for (char* channel : channels) {
    std::free(channel);
  }
  std::printf("%zu\n", channels.size());
}
