// SPDX-License-Identifier: MIT
// The experiments and their declarations for the dispatcher.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "figures/report.hpp"
#include "lab/options.hpp"

namespace heapwright::lab {

struct Experiment {
  std::string_view name;
  std::span<const Parameter> parameters;
  // Approximate peak memory of the load on a wasteful allocator.
  std::uint64_t (*needed_bytes)(const Options&);
  void (*run)(const Options&, figures::Report&);
};

extern const Experiment buffer_cache_experiment;
extern const Experiment fragmentation_experiment;
extern const Experiment contention_experiment;
extern const Experiment latency_experiment;
extern const Experiment arena_experiment;
extern const Experiment pool_experiment;
extern const Experiment free_cost_experiment;
extern const Experiment small_vector_experiment;
extern const Experiment overhead_experiment;
extern const Experiment shared_experiment;
extern const Experiment remote_experiment;
extern const Experiment retain_experiment;
extern const Experiment realloc_experiment;

}  // namespace heapwright::lab
