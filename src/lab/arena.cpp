// SPDX-License-Identifier: MIT
// Question: how much do many objects with the same lifetime gain from one buffer?
// Load: --objects objects of 104 bytes are created and destroyed, --rounds times. --method new: one new and
// one delete each. --method buffer: placed into one buffer of exactly their size. --method monotonic:
// std::pmr::monotonic_buffer_resource, which grows as needed. --method arena: heapwright's arena, reset
// between rounds; arena-huge: the same, with its blocks in huge pages. --method construct: the objects alone,
// in resident pages: the cost that no allocator can remove.
// Figures: time to create an object in the first round (with page faults), the median over the later ones,
// and the same for destroying it.
#include "heapwright/arena.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory_resource>
#include <new>

#include "figures/mapped_array.hpp"
#include "figures/process_figures.hpp"
#include "heapwright/huge_pages.hpp"
#include "lab/experiment.hpp"

namespace heapwright::lab {
namespace {

constexpr Parameter parameters[] = {{"method", "new"}, {"objects", "100000", true}, {"rounds", "21"}};

struct Object {
  explicit Object(std::uint64_t number) noexcept : values{number, number + 1, number + 2} {}
  std::uint64_t values[13];
};
static_assert(sizeof(Object) == 104);

struct OneByOne {
  Object* make(std::uint64_t number) { return new Object(number); }
  void end(Object* const* objects, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) delete objects[i];
  }
};

class Buffer {
 public:
  explicit Buffer(std::uint64_t objects) : objects_(objects) {}
  Object* make(std::uint64_t number) {
    if (memory_ == nullptr) next_ = memory_ = static_cast<Object*>(::operator new(objects_ * sizeof(Object)));
    return new (next_++) Object(number);
  }
  void end(Object* const*, std::uint64_t) {
    ::operator delete(memory_);
    memory_ = nullptr;
  }

 private:
  std::uint64_t objects_;
  Object* memory_ = nullptr;
  Object* next_ = nullptr;
};

class Construction {
 public:
  explicit Construction(std::uint64_t objects) : places_(objects) {}
  Object* make(std::uint64_t number) { return new (&places_[number]) Object(number); }
  void end(Object* const*, std::uint64_t) {}

 private:
  union Place {
    char nothing;
    Object object;
  };
  figures::MappedArray<Place> places_;
};

struct Monotonic {
  std::pmr::monotonic_buffer_resource resource;
  Object* make(std::uint64_t number) {
    return new (resource.allocate(sizeof(Object), alignof(Object))) Object(number);
  }
  void end(Object* const*, std::uint64_t) { resource.release(); }
};

struct Arena {
  heapwright::arena objects;
  explicit Arena(const heapwright::arena_options& options) : objects(options) {}
  Object* make(std::uint64_t number) { return objects.create<Object>(number); }
  void end(Object* const*, std::uint64_t) { objects.reset(); }
};

template <typename Store>
void measure(const Options& options, figures::Report& report, Store& store) {
  const std::uint64_t count = options.count("objects");
  const std::uint64_t rounds = options.count("rounds");
  if (rounds < 2) figures::refuse("--rounds takes 2 or more: the first one is shown separately");
  figures::MappedArray<Object*> objects(count);
  figures::MappedArray<double> making_ns(rounds);
  figures::MappedArray<double> ending_ns(rounds);
  const auto divisor = static_cast<double>(count);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t start_ns = figures::now_ns();
    for (std::uint64_t i = 0; i < count; ++i) objects[i] = store.make(i);
    const std::uint64_t middle_ns = figures::now_ns();
    store.end(objects.begin(), count);
    ending_ns[round] = static_cast<double>(figures::now_ns() - middle_ns) / divisor;
    making_ns[round] = static_cast<double>(middle_ns - start_ns) / divisor;
  }
  const auto median_of_later = [&](figures::MappedArray<double>& values) {
    std::sort(values.begin() + 1, values.end());
    return values[1 + (rounds - 1) / 2];
  };
  report.figure("first_ns", making_ns[0] + ending_ns[0]);
  const double later_making_ns = median_of_later(making_ns);
  const double later_ending_ns = median_of_later(ending_ns);
  report.figure("later_ns", later_making_ns + later_ending_ns);
  report.figure("make_ns", later_making_ns);
  report.figure("end_ns", later_ending_ns);
}

std::uint64_t needed_bytes(const Options& options) { return options.count("objects") * sizeof(Object) * 4; }

void run(const Options& options, figures::Report& report) {
  const std::size_t method =
      options.choice("method", {"new", "buffer", "monotonic", "construct", "arena", "arena-huge"});
  if (method == 0) {
    OneByOne store;
    measure(options, report, store);
  } else if (method == 1) {
    Buffer store(options.count("objects"));
    measure(options, report, store);
  } else if (method == 2) {
    Monotonic store;
    measure(options, report, store);
  } else if (method == 3) {
    Construction store(options.count("objects"));
    measure(options, report, store);
  } else {
    const heapwright::arena_options huge{
        .first_block_bytes = 2 << 20,
        .largest_block_bytes = 8 << 20,
        .upstream = heapwright::huge_page_resource::instance(),
    };
    Arena store(method == 4 ? heapwright::arena_options{} : huge);
    measure(options, report, store);
  }
}

}  // namespace

const Experiment arena_experiment{"arena", parameters, needed_bytes, run};

}  // namespace heapwright::lab
