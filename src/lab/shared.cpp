// SPDX-License-Identifier: MIT
// Question: what does the second allocation of shared_ptr(new T) cost?
// Load: --objects shared objects of 40 bytes are created, then released in the same order. --method new:
// shared_ptr<T>(new T). --method make: make_shared<T>. --method private: a factory whose constructor takes a
// private tag, for types that must not be created otherwise. --method own: heapwright's make_shared_private,
// which such types befriend.
// Figures: allocator calls and bytes requested per object, time to create one and to release it, resident
// bytes per object.
#include <memory>
#include <new>

#include "figures/mapped_array.hpp"
#include "figures/process_figures.hpp"
#include "heapwright/make_shared_private.hpp"
#include "lab/counting_allocator.hpp"
#include "lab/experiment.hpp"

namespace heapwright::lab {
namespace {

constexpr Parameter parameters[] = {{"method", "new"}, {"objects", "1000000", true}};

struct Plain {
  explicit Plain(std::uint64_t number) noexcept : values{number} {}
  std::uint64_t values[5];
};

// The manual solution: a public constructor, but only create() can name the tag.
class Guarded {
  struct Tag {
    explicit Tag() = default;
  };

 public:
  Guarded(Tag, std::uint64_t number) noexcept : values_{number} {}
  static std::shared_ptr<Guarded> create(std::uint64_t number) {
    return std::make_shared<Guarded>(Tag{}, number);
  }

 private:
  std::uint64_t values_[5];
};

class Befriended {
  friend class heapwright::private_access;
  explicit Befriended(std::uint64_t number) noexcept : values_{number} {}
  std::uint64_t values_[5];
};
static_assert(sizeof(Befriended) == sizeof(Plain));

template <typename Make>
void measure(const Options& options, figures::Report& report, const Make& make) {
  using Pointer = decltype(make(std::uint64_t{0}));
  const std::uint64_t objects = options.count("objects");
  figures::MappedArray<std::byte> storage(objects * sizeof(Pointer));
  auto* pointers = reinterpret_cast<Pointer*>(&storage[0]);
  const std::uint64_t before_bytes = figures::resident_bytes();
  const std::uint64_t start_ns = figures::now_ns();
  for (std::uint64_t i = 0; i < objects; ++i) new (pointers + i) Pointer(make(i));
  const std::uint64_t middle_ns = figures::now_ns();
  const double grown_bytes = figures::resident_growth_bytes(before_bytes);
  const std::uint64_t release_ns = figures::now_ns();
  for (std::uint64_t i = 0; i < objects; ++i) pointers[i].~Pointer();
  const std::uint64_t end_ns = figures::now_ns();
  const auto count = static_cast<double>(objects);
  report.figure("ns_per_object", static_cast<double>(middle_ns - start_ns + end_ns - release_ns) / count);
  report.figure("make_ns", static_cast<double>(middle_ns - start_ns) / count);
  report.figure("release_ns", static_cast<double>(end_ns - release_ns) / count);
  report.figure("resident_per_object", grown_bytes / count);
}

void report_requests(figures::Report& report, const Requests& requests) {
  report.figure("calls_per_object", static_cast<double>(requests.calls));
  report.figure("requested_per_object", static_cast<double>(requests.bytes));
}

// The control block of shared_ptr(new T) has the same size with a counting allocator: both that and the
// deleter are empty.
Requests count_new() {
  counted_requests = {1, sizeof(Plain)};
  { std::shared_ptr<Plain>(new Plain(0), std::default_delete<Plain>(), CountingAllocator<Plain>()); }
  return counted_requests;
}

Requests count_make() {
  counted_requests = {};
  { const auto made = std::allocate_shared<Plain>(CountingAllocator<Plain>(), std::uint64_t{0}); }
  return counted_requests;
}

std::uint64_t needed_bytes(const Options& options) { return options.count("objects") * 160; }

void run(const Options& options, figures::Report& report) {
  switch (options.choice("method", {"new", "make", "private", "own"})) {
    case 0:
      report_requests(report, count_new());
      return measure(options, report, [](std::uint64_t i) { return std::shared_ptr<Plain>(new Plain(i)); });
    case 1:
      report_requests(report, count_make());
      return measure(options, report, [](std::uint64_t i) { return std::make_shared<Plain>(i); });
    case 2:
      static_assert(sizeof(Guarded) == sizeof(Plain));  // the same single block
      report_requests(report, count_make());
      return measure(options, report, [](std::uint64_t i) { return Guarded::create(i); });
    default:
      report_requests(report, count_make());  // allocate_shared too, with an allocator as empty
      return measure(options, report, [](std::uint64_t i) { return make_shared_private<Befriended>(i); });
  }
}

}  // namespace

const Experiment shared_experiment{"shared", parameters, needed_bytes, run};

}  // namespace heapwright::lab
