// SPDX-License-Identifier: MIT
#include "analyze/spreads.hpp"

#include "analyze/facts.hpp"
#include "analyze/facts/threads.hpp"

namespace heapwright::analyze {
namespace {

void add_live(LiveSpread& to, const LiveSpread& from) noexcept {
  add_spread(to.peak_blocks, from.peak_blocks);
  add_spread(to.peak_bytes, from.peak_bytes);
  add_spread(to.end_blocks, from.end_blocks);
  add_spread(to.end_bytes, from.end_bytes);
}

}  // namespace

CallSpreads::CallSpreads(const SiteMap& map, const SamplingWeight& weight, std::size_t lanes,
                         std::size_t steps)
    : map_(map), weight_(weight), stacks_(weight.is_sampled() ? map.stack_count() : 0) {
  if (weight.is_sampled()) {
    lanes_.resize(lanes);
    steps_.resize(steps);
  }
}

void CallSpreads::add(std::uint32_t stack, std::uint32_t lane, std::uint32_t step, std::uint64_t size_bytes,
                      std::uint64_t excess_bytes) noexcept {
  const auto term = weight_.variance_term(size_bytes);
  const auto size = static_cast<double>(size_bytes);
  for (auto* const of : {&stacks_[stack], &classes_[size_class_of(size_bytes)], &lanes_[lane]}) {
    add_term(of->allocations, term, 1);
    add_term(of->bytes, term, size);
    add_term(of->overhead, term, static_cast<double>(excess_bytes));
  }
  if (step < steps_.size()) {
    steps_[step] += term;
  }
}

void CallSpreads::add(const CallSpreads& other) noexcept {
  const auto add_all = [](OfStack& to, const OfStack& from) {
    add_spread(to.allocations, from.allocations);
    add_spread(to.bytes, from.bytes);
    add_spread(to.overhead, from.overhead);
  };
  for (std::size_t stack = 0; stack < stacks_.size(); ++stack) {
    if (other.stacks_[stack].bytes.variance != 0) {
      add_all(stacks_[stack], other.stacks_[stack]);
    }
  }
  for (std::size_t index = 0; index < classes_.size(); ++index) {
    add_all(classes_[index], other.classes_[index]);
  }
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    add_all(lanes_[lane], other.lanes_[lane]);
  }
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    steps_[step] += other.steps_[step];
  }
}

void CallSpreads::finish(const std::vector<std::uint32_t>& thread_of_lane, Facts& facts) const {
  if (!weight_.is_sampled()) {
    return;
  }
  auto& spreads = facts.spreads.emplace();
  const auto add_calls = [](CallSpread& to, const OfStack& from) {
    add_spread(to.allocations, from.allocations);
    add_spread(to.bytes, from.bytes);
    add_spread(to.overhead, from.overhead);
  };
  spreads.site_calls.resize(map_.site_count());
  spreads.class_calls.resize(classes_.size());
  spreads.thread_calls.resize(facts.threads.size());
  for (std::uint32_t stack = 0; stack < stacks_.size(); ++stack) {
    add_calls(spreads.site_calls[map_.site_of(stack)], stacks_[stack]);
    add_calls(spreads.total_calls, stacks_[stack]);
  }
  for (std::size_t index = 0; index < classes_.size(); ++index) {
    add_calls(spreads.class_calls[index], classes_[index]);
  }
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    add_calls(spreads.thread_calls[thread_of_lane[lane]], lanes_[lane]);
  }
  spreads.steps.resize(steps_.size());
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    spreads.steps[step].allocations = steps_[step];
  }
}

void LiveSpreads::Live::keep_peak(std::uint64_t version) noexcept {
  if (peak_version != version) {
    at_peak_blocks = blocks;
    at_peak_bytes = bytes;
    peak_version = version;
  }
}

void LiveSpreads::Live::change(double sign, double term, double size_bytes, std::uint64_t version) noexcept {
  keep_peak(version);
  blocks += sign * term;
  bytes += sign * term * size_bytes * size_bytes;
  largest_blocks = std::max(largest_blocks, std::sqrt(term));
  largest_bytes = std::max(largest_bytes, std::sqrt(term) * size_bytes);
}

// Floating-point sums with additions and subtractions may end just below zero.
LiveSpread LiveSpreads::Live::finish(std::uint64_t version) noexcept {
  keep_peak(version);
  const auto spread = [](double variance, double largest) {
    return Spread{std::max(variance, 0.0), largest};
  };
  return {spread(at_peak_blocks, largest_blocks), spread(at_peak_bytes, largest_bytes),
          spread(blocks, largest_blocks), spread(bytes, largest_bytes)};
}

LiveSpreads::LiveSpreads(const SiteMap& map, const SamplingWeight& weight)
    : map_(map), weight_(weight), stacks_(weight.is_sampled() ? map.stack_count() : 0) {}

void LiveSpreads::add_block(std::uint32_t stack, std::uint64_t size_bytes, std::uint64_t version) noexcept {
  const auto term = weight_.variance_term(size_bytes);
  const auto size = static_cast<double>(size_bytes);
  stacks_[stack].change(1, term, size, version);
  classes_[size_class_of(size_bytes)].change(1, term, size, version);
  bytes_variance_ += term * size * size;
}

void LiveSpreads::remove_block(std::uint32_t stack, std::uint64_t size_bytes,
                               std::uint64_t version) noexcept {
  const auto term = weight_.variance_term(size_bytes);
  const auto size = static_cast<double>(size_bytes);
  stacks_[stack].change(-1, term, size, version);
  classes_[size_class_of(size_bytes)].change(-1, term, size, version);
  bytes_variance_ = std::max(bytes_variance_ - term * size * size, 0.0);
}

void LiveSpreads::begin_window(std::uint64_t version) noexcept {
  for (auto& live : stacks_) {
    live.keep_peak(version);
  }
  for (auto& live : classes_) {
    live.keep_peak(version);
  }
  steps_.clear();
}

void LiveSpreads::finish(std::uint64_t version, std::size_t steps, Facts& facts) {
  if (!weight_.is_sampled()) {
    return;
  }
  auto& spreads = *facts.spreads;
  spreads.site_live.resize(map_.site_count());
  for (std::uint32_t stack = 0; stack < stacks_.size(); ++stack) {
    if (stacks_[stack].largest_bytes == 0) {
      continue;
    }
    const auto spread = stacks_[stack].finish(version);
    add_live(spreads.site_live[map_.site_of(stack)], spread);
    add_live(spreads.total_live, spread);
  }
  for (auto& live : classes_) {
    spreads.class_live.push_back(live.finish(version));
  }
  close_steps(steps);
  spreads.steps.resize(std::max(spreads.steps.size(), steps_.size()));
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    spreads.steps[step].live_bytes = steps_[step];
  }
}

}  // namespace heapwright::analyze
