// SPDX-License-Identifier: MIT
// Question: how much do many objects with the same lifetime gain from one buffer?
// Load: --objects objects of 104 bytes are created and destroyed, --rounds times. --method new: one new and
// one delete each. --method buffer: placed into one buffer of exactly their size. --method monotonic:
// std::pmr::monotonic_buffer_resource, which grows as needed. --method arena: heapwright's arena, reset
// between rounds; arena-fresh: a new arena each round; arena-huge: one arena, with its blocks in huge pages.
// --method construct: the objects alone, in resident pages: the cost that no allocator can remove. --kind
// plain: trivially destructible; ending: with a destructor, which an arena has to run.
// Figures: time to create an object in the first round (with page faults), the median over the later ones,
// and the same for destroying it.
#include "heapwright/arena.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <type_traits>

#include "figures/mapped_array.hpp"
#include "figures/process_figures.hpp"
#include "heapwright/huge_pages.hpp"
#include "lab/experiment.hpp"

namespace heapwright::lab {
namespace {

constexpr Parameter parameters[] = {
    {"method", "new"}, {"kind", "plain"}, {"objects", "100000", true}, {"rounds", "21"}};

struct Plain {
  explicit Plain(std::uint64_t number) noexcept : values{number, number + 1, number + 2} {}
  std::uint64_t values[13];
};
static_assert(sizeof(Plain) == 104);

std::uint64_t ended = 0;
struct Ending : Plain {
  using Plain::Plain;
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() { ended += values[0]; }
};

template <class Object>
struct OneByOne {
  Object* make(std::uint64_t number) { return new Object(number); }
  void end(Object* const* objects, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) delete objects[i];
  }
};

template <class Object>
void destroy_all(Object* const* objects, std::uint64_t count) {
  if constexpr (std::is_trivially_destructible_v<Object>) return;
  for (std::uint64_t i = 0; i < count; ++i) std::destroy_at(objects[i]);
}

template <class Object>
class Buffer {
 public:
  explicit Buffer(std::uint64_t objects) : objects_(objects) {}
  Object* make(std::uint64_t number) {
    if (memory_ == nullptr) next_ = memory_ = static_cast<Object*>(::operator new(objects_ * sizeof(Object)));
    return new (next_++) Object(number);
  }
  void end(Object* const* objects, std::uint64_t count) {
    destroy_all(objects, count);
    ::operator delete(memory_);
    memory_ = nullptr;
  }

 private:
  std::uint64_t objects_;
  Object* memory_ = nullptr;
  Object* next_ = nullptr;
};

template <class Object>
class Construction {
 public:
  explicit Construction(std::uint64_t objects) : places_(objects) {}
  Object* make(std::uint64_t number) { return new (&places_[number]) Object(number); }
  void end(Object* const* objects, std::uint64_t count) { destroy_all(objects, count); }

 private:
  struct alignas(Object) Place {
    std::byte bytes[sizeof(Object)];
  };
  figures::MappedArray<Place> places_;
};

template <class Object>
struct Monotonic {
  std::pmr::monotonic_buffer_resource resource;
  Object* make(std::uint64_t number) {
    return new (resource.allocate(sizeof(Object), alignof(Object))) Object(number);
  }
  void end(Object* const* objects, std::uint64_t count) {
    destroy_all(objects, count);
    resource.release();
  }
};

template <class Object>
struct KeptArena {
  heapwright::arena objects;
  explicit KeptArena(const heapwright::arena_options& options) : objects(options) {}
  Object* make(std::uint64_t number) { return objects.create<Object>(number); }
  void end(Object* const*, std::uint64_t) { objects.reset(); }
};

template <class Object>
struct FreshArena {
  std::optional<heapwright::arena> objects;
  Object* make(std::uint64_t number) {
    if (!objects) objects.emplace();
    return objects->create<Object>(number);
  }
  void end(Object* const*, std::uint64_t) { objects.reset(); }
};

template <typename Object, typename Store>
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

std::uint64_t needed_bytes(const Options& options) { return options.count("objects") * sizeof(Plain) * 4; }

template <typename Object>
void run_with(const Options& options, figures::Report& report) {
  const std::size_t method = options.choice(
      "method", {"new", "buffer", "monotonic", "construct", "arena", "arena-fresh", "arena-huge"});
  const auto measure_in = [&](auto&& store) { measure<Object>(options, report, store); };
  if (method == 0) return measure_in(OneByOne<Object>{});
  if (method == 1) return measure_in(Buffer<Object>(options.count("objects")));
  if (method == 2) return measure_in(Monotonic<Object>{});
  if (method == 3) return measure_in(Construction<Object>(options.count("objects")));
  if (method == 4) return measure_in(KeptArena<Object>(heapwright::arena_options{}));
  if (method == 5) return measure_in(FreshArena<Object>{});
  measure_in(KeptArena<Object>(heapwright::arena_options{
      .first_block_bytes = 2 << 20,
      .largest_block_bytes = 8 << 20,
      .upstream = heapwright::huge_page_resource::instance(),
  }));
}

void run(const Options& options, figures::Report& report) {
  if (options.choice("kind", {"plain", "ending"}) == 0) return run_with<Plain>(options, report);
  ended = 0;
  run_with<Ending>(options, report);
  report.figure("ended", static_cast<double>(ended));
}

}  // namespace

const Experiment arena_experiment{"arena", parameters, needed_bytes, run};

}  // namespace heapwright::lab
