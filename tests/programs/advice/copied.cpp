// SPDX-License-Identifier: MIT
// A map that is passed by value for each request; one that is made anew each time is no copy.
#include <map>
#include <string>

#include "modes.hpp"

namespace {

using Settings = std::map<std::string, std::string>;
constexpr int requests = 2000;

void add(Settings& settings, int number) {
  settings["a key of the settings, number " + std::to_string(number)] = "a value that is no short string";
}

[[gnu::noinline]] Settings all() {
  Settings found;
  for (int number = 0; number < 500; ++number) add(found, number);
  return found;
}

[[gnu::noinline]] std::size_t length_of_copy(Settings settings) { return settings.size(); }  // NOLINT
[[gnu::noinline]] std::size_t length_of(const Settings& settings) { return settings.size(); }

[[gnu::noinline]] std::size_t site(const Settings& settings) { return length_of_copy(settings); }

void work(std::size_t (*count)(const Settings&)) {
  const Settings settings = all();
  std::size_t sum = 0;
  for (int number = 0; number < requests; ++number) sum += count(settings);
  modes::use(&sum);
}

void made_anew() {
  std::size_t sum = 0;
  for (int number = 0; number < requests / 4; ++number) sum += length_of(all());
  modes::use(&sum);
}

}  // namespace

int main(int argc, char** argv) {
  return modes::run(
      argc, argv, [] { work(site); }, [] { work(length_of); }, made_anew);
}
