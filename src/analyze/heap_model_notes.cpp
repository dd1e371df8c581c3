// SPDX-License-Identifier: MIT
// Handles the few rows with slow calls or kernel work.
#include <algorithm>

#include "analyze/heap_model.hpp"

namespace heapwright::analyze {

// Runs before the row changes the model and is changed. Returns the next noted row.
std::size_t HeapModel::note(const NotedRow& noted, const Row& row, std::uint32_t hint, RunState& run) {
  const auto& rows = run.piece.noted;
  const auto next = ++run.next_noted < rows.size() ? rows[run.next_noted].row : SIZE_MAX;
  const bool is_release = (row.flags & row_acquires) == 0;
  const bool is_wide = (row.flags & row_is_wide) != 0;
  auto stack = row.stack;
  std::uint64_t size = is_wide ? run.piece.wide[row.size].size : row.size;
  std::uint64_t usable = size + (is_wide ? run.piece.wide[row.size].excess : row.excess);
  bool is_chosen = (row.flags & row_not_chosen) == 0;
  bool is_of_block = true;
  if (is_release) {
    const auto* slot = blocks_.find(row.address, hint);
    size = usable = 0;
    is_of_block = slot != nullptr;
    if (slot != nullptr) {
      const bool is_wide_block = (slot->flags & slot_is_wide) != 0;
      size = is_wide_block ? blocks_.wide(*slot).size : slot->size;
      usable = size + (is_wide_block ? blocks_.wide(*slot).excess : slot->excess);
      stack = slot->stack;
      is_chosen = (slot->flags & slot_not_chosen) == 0;
    } else {
      is_chosen = !scope_.chooses_by_block() && scope_.is_lane_chosen(run.lane);
    }
    if (is_chosen && trace::is_release(row.kind)) {
      run.thread.release_ns -= noted.work.off_processor_ns(row.duration_ns);
    }
  }
  if (!is_in_window_ || !is_chosen) {
    return next;
  }
  const auto begin_ns = is_release ? row.time_ns : row.time_ns - row.duration_ns;
  const auto cause =
      causes_.add({{begin_ns, row.duration_ns, row.kind, scope_.thread_of_lane[run.lane], stack, size},
                   noted.work,
                   usable,
                   is_release,
                   is_of_block},
                  small_frees_);
  if (cause == SlowCause::consolidation) {
    small_frees_.merge();
  }
  return next;
}

// glibc merges the small freed blocks before it searches for a large one.
void HeapModel::acquire_large(const Row& row) noexcept {
  small_frees_.merge();
  const auto usable = std::uint64_t{row.size} + row.excess;
  const bool is_raised = mmap_threshold_.least_size() > MmapThreshold::first_bytes;
  if (scope_.is_glibc && is_raised && row.size >= MmapThreshold::first_bytes && !is_mapped_chunk(usable)) {
    ++large_heap_blocks_.calls;
    large_heap_blocks_.bytes += usable;
  }
}

}  // namespace heapwright::analyze
