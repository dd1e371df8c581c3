// SPDX-License-Identifier: MIT
// A program with slow heap calls (docs/tutorial.md).
//   slow_frames [reuse]
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

constexpr std::size_t frame_bytes = std::size_t{5120} * 2880 * 4;

// What a decoder does to a frame.
unsigned decode(unsigned char* picture, unsigned number) {
  std::memset(picture, static_cast<int>(number), frame_bytes);
  return picture[number % frame_bytes];
}

unsigned show_frame(unsigned number) {
  auto picture = std::make_unique_for_overwrite<unsigned char[]>(frame_bytes);
  return decode(picture.get(), number);
}

unsigned show_frame_again(std::vector<unsigned char>& picture, unsigned number) {
  picture.resize(frame_bytes);
  return decode(picture.data(), number);
}

int main(int count, char** arguments) {
  const bool reuses = count > 1 && std::string(arguments[1]) == "reuse";
  std::vector<unsigned char> picture;
  unsigned sum = 0;
  for (unsigned number = 0; number < 60; ++number) {
    sum += reuses ? show_frame_again(picture, number) : show_frame(number);
  }
  std::printf("60 frames, sum %u\n", sum);
}
