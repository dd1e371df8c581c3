// SPDX-License-Identifier: MIT
// Nothing is planted: it allocates what it needs, keeps it while it is needed, and works for longer than it
// allocates.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

int main() {
  std::vector<std::string> words;
  words.reserve(20'000);
  for (int word = 0; word < 20'000; ++word) {
    words.push_back("a word that is kept to the end of it all " + std::to_string(word));
  }
  double sum = 0;
  for (int round = 0; round < 300; ++round) {
    for (const auto& word : words) {
      sum += std::sqrt(static_cast<double>(word.size() + static_cast<std::size_t>(round)));
    }
  }
  std::printf("%f\n", sum);
}
