// SPDX-License-Identifier: MIT
// Question: why does a pool of objects grow though nothing leaks?
// Load: --objects pooled objects, each with a vector of 32-byte elements. A step picks a random object: one
// in the pool is taken out and its vector filled (mean 1.5 elements, at most 100, large counts rare); one in
// use is returned. --policy clear: the vector is cleared and keeps its capacity. --policy release: its buffer
// is freed each time. --policy trim: it keeps up to --keep elements and frees larger buffers. --policy
// object_pool: heapwright's pool, which sees the capacity inside its objects.
// Figures over time: bytes of capacity held per byte of elements in use, resident bytes; at the end also the
// time per step.
#include <algorithm>
#include <new>
#include <vector>

#include "figures/mapped_array.hpp"
#include "figures/process_figures.hpp"
#include "lab/experiment.hpp"
#include "lab/loads.hpp"
#include "lab/pool_policies.hpp"

namespace heapwright::lab {
namespace {

constexpr std::size_t point_count = 50;
constexpr Parameter parameters[] = {
    {"policy", "clear"}, {"objects", "10000", true}, {"steps", "20000000", true}, {"keep", "8"}};

struct Points {
  double steps[point_count];
  double held_bytes[point_count];
  double used_bytes[point_count];
  double resident_bytes[point_count];
};

template <typename Pool>
void measure(const Options& options, figures::Report& report, Pool& pool) {
  const std::uint64_t objects = options.count("objects");
  const std::uint64_t steps = std::max<std::uint64_t>(point_count, options.count("steps"));
  const CreepingCount count_of_elements;
  Random random(options.seed());
  figures::MappedArray<PooledObject*> out(objects);
  figures::MappedArray<Points> kept(1);
  Points& points = kept[0];
  const std::uint64_t before_bytes = figures::resident_bytes();
  std::uint64_t elapsed_ns = 0;
  std::uint64_t used_elements = 0;
  std::uint64_t done = 0;
  for (std::size_t point = 0; point < point_count; ++point) {
    const std::uint64_t start_ns = figures::now_ns();
    const std::uint64_t end = steps * (point + 1) / point_count;
    for (; done < end; ++done) {
      const std::uint64_t number = random.below(objects);
      if (out[number] != nullptr) {
        used_elements -= out[number]->elements.size();
        pool.give_back(number, out[number]);
        out[number] = nullptr;
        continue;
      }
      out[number] = pool.take(number);
      const std::uint32_t count = count_of_elements.draw(random);
      for (std::uint32_t i = 0; i < count; ++i) out[number]->elements.push_back({});
      used_elements += count;
    }
    elapsed_ns += figures::now_ns() - start_ns;
    points.steps[point] = static_cast<double>(done);
    points.held_bytes[point] = static_cast<double>(pool.capacity(out.first(objects)) * sizeof(Element));
    points.used_bytes[point] = static_cast<double>(used_elements * sizeof(Element));
    points.resident_bytes[point] = figures::resident_growth_bytes(before_bytes);
  }
  constexpr std::size_t last = point_count - 1;
  report.figure("held_ratio", points.held_bytes[last] / std::max(1.0, points.used_bytes[last]));
  report.figure("held_bytes", points.held_bytes[last]);
  report.figure("resident_bytes", points.resident_bytes[last]);
  report.figure("ns_per_step", static_cast<double>(elapsed_ns) / static_cast<double>(steps));
  report.series("steps", points.steps);
  report.series("held_bytes_by_steps", points.held_bytes);
  report.series("used_bytes_by_steps", points.used_bytes);
  report.series("resident_bytes_by_steps", points.resident_bytes);
}

std::uint64_t needed_bytes(const Options& options) {
  return options.count("objects") * CreepingCount::max_count * sizeof(Element) * 3;
}

void run(const Options& options, figures::Report& report) {
  const std::size_t policy = options.choice("policy", {"clear", "release", "trim", "object_pool"});
  const std::uint64_t objects = options.count("objects");
  if (policy < 3) {
    constexpr std::size_t everything = static_cast<std::size_t>(-1);
    const std::size_t keep = policy == 0 ? everything : policy == 1 ? 0 : options.count("keep");
    FixedPool pool(objects, keep);
    return measure(options, report, pool);
  }
  OwnPool pool(objects);
  measure(options, report, pool);
}

}  // namespace

const Experiment pool_experiment{"pool", parameters, needed_bytes, run};

}  // namespace heapwright::lab
