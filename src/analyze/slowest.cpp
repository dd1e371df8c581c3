// SPDX-License-Identifier: MIT
#include "analyze/slowest.hpp"

#include <algorithm>
#include <tuple>

namespace heapwright::analyze {
namespace {

bool is_slower(const SlowCall& a, const SlowCall& b) {
  return std::tie(b.duration_ns, a.begin_ns, a.thread) < std::tie(a.duration_ns, b.begin_ns, b.thread);
}

}  // namespace

void Slowest::add(const SlowCall& call) {
  if (limit_ == 0) {
    return;
  }
  if (calls_.size() == limit_) {
    if (!is_slower(call, calls_.front())) {
      return;
    }
    std::pop_heap(calls_.begin(), calls_.end(), is_slower);
    calls_.pop_back();
  }
  calls_.push_back(call);
  std::push_heap(calls_.begin(), calls_.end(), is_slower);
  if (calls_.size() == limit_) {
    floor_ns_ = calls_.front().duration_ns;
  }
}

void Slowest::add(const Slowest& other) {
  for (const auto& call : other.calls_) {
    add(call);
  }
}

void Slowest::clear() {
  calls_.clear();
  floor_ns_ = limit_ == 0 ? UINT64_MAX : 1;
}

std::vector<SlowCall> Slowest::finish() const {
  auto calls = calls_;
  std::sort(calls.begin(), calls.end(), is_slower);
  return calls;
}

}  // namespace heapwright::analyze
