// SPDX-License-Identifier: MIT
// Question: what does freeing cost, compared to allocating?
// Load: --blocks blocks of random size 1 to 1024, the first byte of each written; then freed in random order.
// Sizes and order are drawn beforehand.
// Figures: time per allocation, per free, and their ratio. Small counts are repeated until --least-operations
// blocks were allocated; the figures are means over all rounds.
#include <cstdlib>

#include "figures/mapped_array.hpp"
#include "figures/process_figures.hpp"
#include "lab/experiment.hpp"
#include "lab/random.hpp"

namespace heapwright::lab {
namespace {

constexpr std::uint64_t max_size_bytes = 1024;
constexpr Parameter parameters[] = {{"blocks", "100000", true}, {"least-operations", "1000000", true}};

std::uint64_t needed_bytes(const Options& options) {
  return options.count("blocks") * (max_size_bytes / 2 + 160);
}

void run(const Options& options, figures::Report& report) {
  const std::uint64_t blocks = options.count("blocks");
  if (blocks == 0 || blocks > UINT32_MAX) figures::refuse("--blocks takes 1 to 4294967295");
  const std::uint64_t rounds = (options.count("least-operations") + blocks - 1) / blocks;
  figures::MappedArray<std::uint16_t> sizes(blocks);
  figures::MappedArray<std::uint32_t> order(blocks);
  figures::MappedArray<unsigned char*> pointers(blocks);
  Random random(options.seed());
  for (std::uint64_t i = 0; i < blocks; ++i) {
    sizes[i] = static_cast<std::uint16_t>(random.between(1, max_size_bytes));
    order[i] = static_cast<std::uint32_t>(i);
  }
  shuffle(order, blocks, random);
  std::uint64_t allocating_ns = 0;
  std::uint64_t freeing_ns = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t start_ns = figures::now_ns();
    for (std::uint64_t i = 0; i < blocks; ++i) {
      pointers[i] = static_cast<unsigned char*>(std::malloc(sizes[i]));
      if (pointers[i] == nullptr) figures::give_up("malloc failed after %zu blocks", i);
      *pointers[i] = 1;
    }
    const std::uint64_t middle_ns = figures::now_ns();
    for (std::uint64_t i = 0; i < blocks; ++i) std::free(pointers[order[i]]);
    freeing_ns += figures::now_ns() - middle_ns;
    allocating_ns += middle_ns - start_ns;
  }
  const auto operations = static_cast<double>(blocks * rounds);
  report.figure("free_ratio", static_cast<double>(freeing_ns) / static_cast<double>(allocating_ns));
  report.figure("total_ns", static_cast<double>(freeing_ns + allocating_ns) / operations);
  report.figure("allocate_ns", static_cast<double>(allocating_ns) / operations);
  report.figure("free_ns", static_cast<double>(freeing_ns) / operations);
}

}  // namespace

const Experiment free_cost_experiment{"free-cost", parameters, needed_bytes, run};

}  // namespace heapwright::lab
