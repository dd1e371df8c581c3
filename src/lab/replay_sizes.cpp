// SPDX-License-Identifier: MIT
#include "lab/replay_sizes.hpp"

#include <cstdint>
#include <vector>

#include "heapwright/buffer_cache.hpp"
#include "lab/options.hpp"

namespace heapwright::lab {
namespace {

// For one cache, as a thread would have it.
constexpr cache_limits limits{.total_bytes = 1024 * 1024, .buffers = 64};

std::vector<buffer_event> read_events(std::FILE* input) {
  std::vector<buffer_event> events;
  std::vector<bool> is_lent;
  std::int64_t number = 0;
  while (std::fread(&number, sizeof(number), 1, input) == 1) {
    if (number > 0) {
      if (static_cast<std::uint64_t>(number) > cached_block::most_bytes / 2) {
        figures::refuse("a request of %lld bytes", static_cast<long long>(number));
      }
      events.push_back({is_lent.size(), static_cast<std::size_t>(number)});
      is_lent.push_back(true);
      continue;
    }
    const auto request = static_cast<std::uint64_t>(-(number + 1));
    if (request >= is_lent.size() || !is_lent[request]) {
      figures::refuse("request %llu is returned but not outstanding",
                      static_cast<unsigned long long>(request));
    }
    is_lent[request] = false;
    events.push_back({request, 0});
  }
  return events;
}

template <class Policy>
void print(const char* name, const std::vector<buffer_event>& events, const char* end) {
  Policy policy(limits);
  const cache_forecast found = replay(policy, events);
  std::printf(
      "{\"policy\": \"%s\", \"hit_percent\": %.2f, \"used_percent\": %.2f, \"peak_retained_bytes\": %zu}%s",
      name, found.hit_percent, found.used_percent, found.peak_retained_bytes, end);
}

}  // namespace

int replay_sizes(std::FILE* input) {
  const auto events = read_events(input);
  std::printf("{\"events\": %zu, \"policies\": [", events.size());
  print<learnt_cutoff>("learnt_cutoff", events, ", ");
  print<fixed_cutoff<256>>("fixed_cutoff<256>", events, ", ");
  print<fixed_cutoff<4096>>("fixed_cutoff<4096>", events, ", ");
  print<fixed_cutoff<65536>>("fixed_cutoff<65536>", events, ", ");
  print<calibrated_pool>("calibrated_pool", events, ", ");
  print<keep_the_larger>("keep_the_larger", events, "]}\n");
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace heapwright::lab
