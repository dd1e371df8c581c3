// SPDX-License-Identifier: MIT
// Question: how much do vectors gain that store their first elements inline?
// Load: --vectors vectors of pointers are filled by push_back: half stay empty, 49 % get one element, 1 % two
// to eight; then all are destroyed. --rounds times. --container vector: std::vector. --container small:
// heapwright's small_vector with one inline element. --container stack: the case of a hot function,
// small_vector with 64 inline elements, one vector at a time, filled with 64, and a 64th as many vectors;
// --container local is the same with std::vector.
// Figures: time per vector in the later rounds, bytes of the vector itself, allocator calls and bytes
// requested per vector, resident bytes per vector.
#include "heapwright/small_vector.hpp"

#include <algorithm>
#include <new>
#include <vector>

#include "figures/mapped_array.hpp"
#include "figures/process_figures.hpp"
#include "lab/counting_allocator.hpp"
#include "lab/experiment.hpp"
#include "lab/loads.hpp"

namespace heapwright::lab {
namespace {

constexpr std::uint32_t local_elements = 64;
// One local vector is filled with as many elements as 64 of the others.
constexpr std::uint64_t local_divisor = 64;
constexpr Parameter parameters[] = {{"container", "vector"}, {"vectors", "1000000", true}, {"rounds", "5"}};

using Counts = figures::MappedArray<std::uint8_t>;

void draw_counts(Counts& counts, std::uint64_t seed) {
  Random random(seed);
  for (std::uint8_t& count : counts) count = static_cast<std::uint8_t>(small_vector_count(random));
}

template <typename Vector>
void fill(Vector& vector, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) vector.push_back(&vector);
}

// All vectors live at once, in mapped memory, so that only their elements use the heap.
template <typename Vector>
double round_of_many(figures::MappedArray<std::byte>& storage, const Counts& counts,
                     double& resident_growth) {
  auto* vectors = reinterpret_cast<Vector*>(&storage[0]);
  const std::uint64_t before_bytes = figures::resident_bytes();
  const std::uint64_t start_ns = figures::now_ns();
  for (std::size_t i = 0; i < counts.size(); ++i) fill(*new (vectors + i) Vector(), counts[i]);
  const std::uint64_t filled_ns = figures::now_ns();
  resident_growth = figures::resident_growth_bytes(before_bytes);
  const std::uint64_t ending_ns = figures::now_ns();
  for (std::size_t i = 0; i < counts.size(); ++i) vectors[i].~Vector();
  return static_cast<double>(figures::now_ns() - ending_ns + filled_ns - start_ns) /
         static_cast<double>(counts.size());
}

// One vector at a time, on the stack.
template <typename Vector>
double round_of_locals(std::uint64_t vectors) {
  const std::uint64_t start_ns = figures::now_ns();
  for (std::uint64_t i = 0; i < vectors; ++i) {
    Vector vector;
    fill(vector, local_elements);
    asm volatile("" : : "r"(vector.data()) : "memory");
  }
  return static_cast<double>(figures::now_ns() - start_ns) / static_cast<double>(vectors);
}

template <typename CountingVector>
void report_requests(figures::Report& report, const Counts& counts, bool is_local) {
  counted_requests = {};
  for (const std::uint8_t count : counts.first(counts.size())) {
    CountingVector vector;
    fill(vector, is_local ? local_elements : count);
  }
  const auto vectors = static_cast<double>(counts.size());
  report.figure("calls_per_vector", static_cast<double>(counted_requests.calls) / vectors);
  report.figure("requested_per_vector", static_cast<double>(counted_requests.bytes) / vectors);
}

template <typename Vector>
void measure(const Options& options, figures::Report& report, const Counts& counts, bool is_local) {
  const std::uint64_t rounds = options.count("rounds");
  if (rounds < 2) figures::refuse("--rounds takes 2 or more: the first one warms up");
  figures::MappedArray<std::byte> storage(counts.size() * sizeof(Vector));
  figures::MappedArray<double> times(rounds);
  double resident_growth = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    double growth = 0;
    times[round] =
        is_local ? round_of_locals<Vector>(counts.size()) : round_of_many<Vector>(storage, counts, growth);
    if (round == 0) resident_growth = growth;
  }
  std::sort(times.begin() + 1, times.end());
  const double extra = is_local ? 0 : static_cast<double>(sizeof(Vector));
  report.figure("ns_per_vector", times[1 + (rounds - 1) / 2]);
  report.figure("first_ns", times[0]);
  report.figure("own_bytes", static_cast<double>(sizeof(Vector)));
  report.figure("resident_per_vector", resident_growth / static_cast<double>(counts.size()) + extra);
}

std::uint64_t needed_bytes(const Options& options) { return options.count("vectors") * 128; }

void run(const Options& options, figures::Report& report) {
  const std::size_t container = options.choice("container", {"vector", "local", "small", "stack"});
  const bool is_local = container == 1 || container == 3;
  const std::uint64_t vectors = options.count("vectors");
  Counts counts(is_local ? (vectors + local_divisor - 1) / local_divisor : vectors);
  draw_counts(counts, options.seed());
  if (container < 2) {
    measure<std::vector<void*>>(options, report, counts, is_local);
    return report_requests<std::vector<void*, CountingAllocator<void*>>>(report, counts, is_local);
  }
  if (is_local) {
    measure<small_vector<void*, local_elements>>(options, report, counts, true);
    report_requests<small_vector<void*, local_elements, CountingAllocator<void*>>>(report, counts, true);
  } else {
    measure<small_vector<void*, 1>>(options, report, counts, false);
    report_requests<small_vector<void*, 1, CountingAllocator<void*>>>(report, counts, false);
  }
}

}  // namespace

const Experiment small_vector_experiment{"small-vector", parameters, needed_bytes, run};

}  // namespace heapwright::lab
