// SPDX-License-Identifier: MIT
// Words per line: most lines of a log have few, and those need no heap.
#include "heapwright/small_vector.hpp"

#include <cstdio>
#include <string>
#include <string_view>

using heapwright::small_vector;
using heapwright::small_vector_ref;
using heapwright::tracked_small_vector;

struct words_of_a_line;  // names the place in the statistics

// Takes a small_vector of any N.
static void split(std::string_view line, small_vector_ref<std::string_view> words) {
  while (!line.empty()) {
    const std::size_t space = line.find(' ');
    words.push_back(line.substr(0, space));
    line.remove_prefix(space == line.npos ? line.size() : space + 1);
  }
}

int main() {
  small_vector<std::string_view, 4> words;
  split("three short words", words);
  std::printf("%zu words, %s\n", words.size(), words.is_inline() ? "no heap" : "on the heap");

  split("and a line that is longer than the others", words);
  std::printf("%zu words, %s\n", words.size(), words.is_inline() ? "no heap" : "on the heap");

  words = {};  // gives the buffer back, as every such spelling does
  std::printf("%zu words, %s\n", words.size(), words.is_inline() ? "no heap" : "on the heap");

  for (int line = 0; line < 1000; ++line) {
    tracked_small_vector<int, 2, words_of_a_line> measured;
    measured.resize(line % 100 == 0 ? 9 : static_cast<std::size_t>(line % 4));
  }
  const auto& statistics = tracked_small_vector<int, 2, words_of_a_line>::statistics();
  std::printf("%s\nN = %zu keeps 99 %% inline\n", statistics.report().c_str(),
              statistics.recommended_inline_count(99.0));
}
