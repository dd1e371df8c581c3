// SPDX-License-Identifier: MIT
#include "record/process.hpp"

#include <cstddef>

#include "record/session_link.hpp"

namespace heapwright::record {

constinit WipedOnFork wiped_on_fork{};
constinit Process process{};

session::Lane* map_lane(std::uint32_t index) noexcept {
  if (process.lanes_mapped_at_once) return &process.block->lanes[index];
  const int file = is_confined() ? -1 : open_session();
  if (file < 0) return nullptr;
  const std::uint64_t offset = session::process_offset(process.block_index) +
                               offsetof(session::ProcessBlock, lanes) +
                               index * std::uint64_t{sizeof(session::Lane)};
  void* lane = map_part(*process.control, file, offset, sizeof(session::Lane));
  close_session(file);
  return static_cast<session::Lane*>(lane);
}

}  // namespace heapwright::record
