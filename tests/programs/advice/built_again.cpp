// SPDX-License-Identifier: MIT
// A regular expression that is compiled for each text; one that is kept has nothing left to free.
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "modes.hpp"

namespace {

constexpr int texts = 2000;
constexpr const char* pattern = "^[a-z0-9.]+@[a-z0-9]+\\.[a-z]{2,4}$";

[[gnu::noinline]] bool site(const std::string& text) { return std::regex_match(text, std::regex(pattern)); }

[[gnu::noinline]] bool is_of_kept(const std::string& text) {
  static const std::regex kept(pattern);
  return std::regex_match(text, kept);
}

void work(bool (*is_address)(const std::string&)) {
  std::uint64_t found = 0;
  for (int i = 0; i < texts; ++i) found += is_address(std::to_string(i) + "@example.org") ? 1 : 0;
  modes::use(&found);
}

// As many blocks, of which thousands live at once: each takes the place of one that was made long before.
void replaced() {
  modes::Random random;
  std::vector<std::unique_ptr<std::vector<int>>> live(20'000);
  for (int i = 0; i < 1'000'000; ++i) {
    auto& one = live[random.below(live.size())];
    one = std::make_unique<std::vector<int>>(10 + random.below(300), i);
    modes::use(one->data());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return modes::run(
      argc, argv, [] { work(site); }, [] { work(is_of_kept); }, replaced);
}
