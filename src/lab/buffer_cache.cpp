// SPDX-License-Identifier: MIT
// Question: how much memory does a cache of variable-sized buffers waste?
// Load: each step allocates or frees with equal probability (allocates if nothing is live). A request starts
// at 100 bytes and doubles with probability 1/2 (--variant flat) or 1/4 (--variant steep) up to 1 MiB; a free
// picks a random live buffer. Callers write everything they requested. --policy as in
// lab/buffer_policies.hpp; own is heapwright's buffer_cache.
// Figure: bytes needed by callers / bytes of the buffers they hold, sampled every 100 steps; its mean, and
// its mean over the last half. Also the time per step, the cached bytes and the resident bytes.
#include <algorithm>
#include <cstring>

#include "figures/mapped_array.hpp"
#include "figures/process_figures.hpp"
#include "lab/buffer_policies.hpp"
#include "lab/experiment.hpp"
#include "lab/loads.hpp"
#include "lab/own_buffer_source.hpp"

namespace heapwright::lab {
namespace {

constexpr std::uint64_t sample_steps = 100;
constexpr std::size_t max_points = 200;
constexpr Parameter parameters[] = {{"variant", "flat"},
                                    {"policy", "flawed"},
                                    {"entries", "1"},
                                    {"cutoff", "200"},
                                    {"steps", "200000", true}};

struct LiveBuffer {
  CachedBuffer buffer;
  std::size_t needed_bytes;
};

struct Sums {
  double needed_bytes = 0;
  double held_bytes = 0;
};

template <typename Source>
class Load {
 public:
  Load(const Options& options, Source& source)
      : source_(source),
        doubling_probability_(options.choice("variant", {"flat", "steep"}) == 0 ? 0.5 : 0.25),
        random_(options.seed()),
        live_(options.count("steps")) {}

  void step() {
    if (count_ == 0 || random_.below(2) == 0) {
      const std::size_t needed = doubling_size(random_, doubling_probability_);
      const CachedBuffer buffer = source_.take(needed);
      std::memset(buffer.memory, 1, needed);
      live_[count_++] = {buffer, needed};
      sums_.needed_bytes += static_cast<double>(needed);
      sums_.held_bytes += static_cast<double>(buffer.size_bytes);
      return;
    }
    std::swap(live_[random_.below(count_)], live_[count_ - 1]);
    const LiveBuffer& freed = live_[--count_];
    sums_.needed_bytes -= static_cast<double>(freed.needed_bytes);
    sums_.held_bytes -= static_cast<double>(freed.buffer.size_bytes);
    source_.give_back(freed.buffer);
  }

  const Sums& sums() const noexcept { return sums_; }

 private:
  Source& source_;
  double doubling_probability_;
  Random random_;
  figures::MappedArray<LiveBuffer> live_;
  std::size_t count_ = 0;
  Sums sums_;
};

struct Points {
  double steps[max_points];
  double used_percent[max_points];
  double held_bytes[max_points];
  double needed_bytes[max_points];
};

// If nothing is held, nothing is wasted.
double used_percent(const Sums& sums) {
  return sums.held_bytes > 0 ? 100 * sums.needed_bytes / sums.held_bytes : 100;
}

template <typename Source>
void measure(const Options& options, figures::Report& report, Source& source) {
  const std::uint64_t samples = std::max<std::uint64_t>(2, options.count("steps") / sample_steps);
  const std::uint64_t samples_per_point = (samples + max_points - 1) / max_points;
  Load<Source> load(options, source);
  figures::MappedArray<Points> kept(1);
  Points& points = kept[0];
  std::size_t point_count = 0;
  double percent_sum = 0;
  double late_percent_sum = 0;
  std::uint64_t late_samples = 0;
  std::uint64_t elapsed_ns = 0;
  const std::uint64_t before_bytes = figures::resident_bytes();
  for (std::uint64_t sample = 1; sample <= samples; ++sample) {
    const std::uint64_t start_ns = figures::now_ns();
    for (std::uint64_t i = 0; i < sample_steps; ++i) load.step();
    elapsed_ns += figures::now_ns() - start_ns;
    const double percent = used_percent(load.sums());
    percent_sum += percent;
    if (sample > samples / 2) {
      late_percent_sum += percent;
      ++late_samples;
    }
    if (sample % samples_per_point != 0) continue;
    points.steps[point_count] = static_cast<double>(sample * sample_steps);
    points.used_percent[point_count] = percent;
    points.held_bytes[point_count] = load.sums().held_bytes;
    points.needed_bytes[point_count++] = load.sums().needed_bytes;
  }
  report.figure("late_used_percent", late_percent_sum / static_cast<double>(late_samples));
  report.figure("used_percent", percent_sum / static_cast<double>(samples));
  report.figure("hit_percent",
                200 * static_cast<double>(source.hits()) / static_cast<double>(samples * sample_steps));
  report.figure("cached_bytes", static_cast<double>(source.cached_bytes()));
  report.figure("ns_per_step", static_cast<double>(elapsed_ns) / static_cast<double>(samples * sample_steps));
  report.figure("resident_bytes", figures::resident_growth_bytes(before_bytes));
  report.series("steps", {points.steps, point_count});
  report.series("used_percent_by_steps", {points.used_percent, point_count});
  report.series("held_bytes_by_steps", {points.held_bytes, point_count});
  report.series("needed_bytes_by_steps", {points.needed_bytes, point_count});
}

std::uint64_t needed_bytes(const Options& options) {
  return options.count("steps") * sizeof(LiveBuffer) + (std::uint64_t{512} << 20);
}

void run(const Options& options, figures::Report& report) {
  const std::size_t policy = options.choice("policy", {"none", "flawed", "cutoff", "bucketed", "own"});
  if (policy < 4) {
    BufferSource source(static_cast<BufferPolicy>(policy), options.count("entries"), options.count("cutoff"));
    return measure(options, report, source);
  }
  OwnBufferSource source;
  measure(options, report, source);
}

}  // namespace

const Experiment buffer_cache_experiment{"buffer-cache", parameters, needed_bytes, run};

}  // namespace heapwright::lab
