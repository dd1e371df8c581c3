// SPDX-License-Identifier: MIT
// Texts that grow by a part at a time, each time in a new block that fits exactly.
#include <string>

#include "modes.hpp"

namespace {

constexpr int texts = 8;
constexpr int parts = 2000;

[[gnu::noinline]] std::string site(const std::string& text, const char* part) { return text + part; }

void added() {
  for (int round = 0; round < texts; ++round) {
    std::string text;
    for (int part = 0; part < parts; ++part) text = site(text, "another line of the text\n");
    modes::use(text.data());
  }
}

void appended() {
  for (int round = 0; round < texts; ++round) {
    std::string text;
    for (int part = 0; part < parts; ++part) text += "another line of the text\n";
    modes::use(text.data());
  }
}

// Each takes the place of the one before; half of them are a little larger, half a little smaller.
void replaced() {
  modes::Random random;
  std::string latest(50'000, 'a');
  for (int round = 0; round < texts * parts; ++round) {
    latest = site(std::string(45'000 + random.below(10'000), 'a'), "b");
    modes::use(latest.data());
  }
}

}  // namespace

int main(int argc, char** argv) { return modes::run(argc, argv, added, appended, replaced); }
