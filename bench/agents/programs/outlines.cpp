// SPDX-License-Identifier: MIT
// Planted: outlines of thousands of points grow point by point.
#include <cstdio>
#include <vector>

struct Point {
  double x, y;
};

[[gnu::noinline]] std::vector<Point> trace_outline(int points) {
  std::vector<Point> outline;
  for (int number = 0; number < points; ++number) {
    outline.push_back({static_cast<double>(number), static_cast<double>(number % 7)});
  }
  return outline;
}

int main() {
  double sum = 0;
  for (int shape = 0; shape < 20'000; ++shape) {
    const auto outline = trace_outline(1500 + shape % 100);
    sum += outline[static_cast<std::size_t>(shape) % outline.size()].x;
  }
  std::printf("%f\n", sum);
}
