// SPDX-License-Identifier: MIT
#include "analyze/funnels.hpp"

#include <algorithm>

namespace heapwright::analyze {
namespace {

constexpr int most_rounds = 8;

class FunnelSearch {
 public:
  FunnelSearch(std::span<const std::uint32_t> parents, std::span<const std::uint32_t> frames,
               std::span<const FrameKind> kinds)
      : parents_(parents), frames_(frames), kinds_(kinds), is_funnel_(kinds.size()), nearest_(frames.size()) {
    for (std::uint32_t stack = 1; stack < frames_.size(); ++stack) {
      nearest_[stack] = is_skipped(frames_[stack]) ? nearest_[parent_of(stack)] : stack;
    }
  }

  std::vector<std::uint32_t> run() {
    auto stacks = innermost();
    for (int round = 0; round < most_rounds && mark_funnels(stacks); ++round) {
      for (auto& stack : stacks) {
        stack = is_funnel_[frames_[stack]] ? caller_of(stack) : stack;
      }
      keep_distinct(stacks);
    }
    std::vector<std::uint32_t> found;
    for (std::uint32_t frame = 0; frame < is_funnel_.size(); ++frame) {
      if (is_funnel_[frame]) {
        found.push_back(frame);
      }
    }
    return found;
  }

 private:
  bool is_skipped(std::uint32_t frame) const noexcept {
    return frame >= kinds_.size() || kinds_[frame] == FrameKind::skipped;
  }
  // 0: never a funnel.
  std::size_t callers_needed(std::uint32_t frame) const noexcept {
    return kinds_[frame] == FrameKind::unnamed      ? funnel_callers
           : kinds_[frame] == FrameKind::allocating ? allocating_callers
                                                    : 0;
  }
  std::uint32_t parent_of(std::uint32_t stack) const noexcept {
    return parents_[stack] < stack ? parents_[stack] : 0;
  }

  // The nearest caller that is neither skipped nor a funnel; 0: none.
  std::uint32_t caller_of(std::uint32_t stack) const noexcept {
    auto caller = nearest_[parent_of(stack)];
    while (caller != 0 && is_funnel_[frames_[caller]]) {
      caller = nearest_[parent_of(caller)];
    }
    return caller;
  }

  // The innermost stacks (no other stack extends them), with skipped frames removed.
  std::vector<std::uint32_t> innermost() const {
    std::vector<bool> is_leaf(frames_.size(), true);
    for (std::uint32_t stack = 1; stack < frames_.size(); ++stack) {
      is_leaf[parent_of(stack)] = false;
    }
    std::vector<std::uint32_t> stacks;
    for (std::uint32_t stack = 1; stack < frames_.size(); ++stack) {
      if (is_leaf[stack]) {
        stacks.push_back(nearest_[stack]);
      }
    }
    keep_distinct(stacks);
    return stacks;
  }

  static void keep_distinct(std::vector<std::uint32_t>& stacks) {
    std::sort(stacks.begin(), stacks.end());
    stacks.erase(std::unique(stacks.begin(), stacks.end()), stacks.end());
    if (!stacks.empty() && stacks.front() == 0) {
      stacks.erase(stacks.begin());
    }
  }

  // False if there are no new ones.
  bool mark_funnels(const std::vector<std::uint32_t>& stacks) {
    std::vector<std::uint64_t> calls;  // of a candidate frame by another frame
    for (const auto stack : stacks) {
      const auto frame = frames_[stack];
      const auto caller = callers_needed(frame) != 0 ? caller_of(stack) : 0;
      if (caller != 0) {
        calls.push_back(std::uint64_t{frame} << 32 | frames_[caller]);
      }
    }
    std::sort(calls.begin(), calls.end());
    calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
    bool has_new = false;
    for (std::size_t from = 0; from < calls.size();) {
      const auto frame = calls[from] >> 32;
      auto to = from;
      while (to < calls.size() && calls[to] >> 32 == frame) {
        ++to;
      }
      if (to - from >= callers_needed(static_cast<std::uint32_t>(frame))) {
        has_new = true;
        is_funnel_[frame] = true;
      }
      from = to;
    }
    return has_new;
  }

  std::span<const std::uint32_t> parents_;
  std::span<const std::uint32_t> frames_;
  std::span<const FrameKind> kinds_;
  std::vector<bool> is_funnel_;         // by frame
  std::vector<std::uint32_t> nearest_;  // by stack: itself, or the nearest caller that is not skipped
};

}  // namespace

std::vector<std::uint32_t> find_funnels(std::span<const std::uint32_t> parents,
                                        std::span<const std::uint32_t> frames,
                                        std::span<const FrameKind> kinds) {
  return FunnelSearch(parents, frames, kinds).run();
}

}  // namespace heapwright::analyze
