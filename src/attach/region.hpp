// SPDX-License-Identifier: MIT
// The mapping that attaching adds to a process: a page of patches, the agent, its counters. It stays
// there permanently, because a thread may be in it at any time; the next attach reuses it. Functions that are
// too far away jump by way of a second one, the annex: a page of their patches, a page of jumps to the agent.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "attach/agent/layout.hpp"
#include "attach/agent_image.hpp"
#include "attach/relocation.hpp"
#include "attach/target_maps.hpp"
#include "attach/target_memory.hpp"

namespace heapwright::attach {

inline constexpr std::uint64_t region_version = 1;  // of RegionHead and Slot

struct RegionHead {
  std::array<char, 16> magic;
  std::uint64_t version;
  std::uint64_t agent_checksum;
  std::uint64_t slots;  // used, after this head
  // Who patched the process, and what for. Kind 0: an older version that did not say.
  std::uint64_t tracer_process;
  std::uint64_t tracer_start_ticks;
  AgentKind kind;
  // Offset in the region of the thread table, which is wiped in a fork child. 0: this is an annex.
  std::uint32_t threads_offset;
};

// A patched function: the bytes that the jump has replaced, and its first instructions, moved.
struct Slot {
  std::uint64_t function;
  std::array<std::uint8_t, jump_bytes> original;
  std::uint8_t padding[3];
  std::array<std::uint8_t, 48> code;
};
static_assert(sizeof(RegionHead) == sizeof(Slot) && sizeof(Slot) == 64);

inline constexpr std::uint64_t slots_bytes = 4096;
inline constexpr std::size_t max_slots = slots_bytes / sizeof(Slot) - 1;

// Addresses within a region.
class Region {
 public:
  Region(std::uint64_t base, const AgentImage& image) : base_(base), image_(&image) {}

  std::uint64_t base() const noexcept { return base_; }
  std::uint64_t slot(std::size_t index) const noexcept {
    return base_ + sizeof(RegionHead) + index * sizeof(Slot);
  }
  std::uint64_t code_of_slot(std::size_t index) const noexcept { return slot(index) + offsetof(Slot, code); }
  std::uint64_t image() const noexcept { return base_ + slots_bytes; }
  std::uint64_t data() const noexcept { return image() + image_->data_offset(); }
  std::uint64_t agent() const noexcept { return image() + image_->agent_offset(); }
  std::uint64_t threads() const noexcept { return image() + image_->threads_offset(); }
  std::uint64_t frames() const noexcept { return image() + image_->frames_offset(); }
  // The end of the agent, and of all of it.
  std::uint64_t tail() const noexcept { return image() + image_->bytes(); }
  static std::uint64_t bytes(const AgentImage& image) noexcept {
    return slots_bytes + image.bytes() + image.tail_bytes();
  }

 private:
  std::uint64_t base_;
  const AgentImage* image_;
};

RegionHead make_head(const AgentImage& image);

inline constexpr std::uint64_t annex_bytes = 2 * slots_bytes;
// A jump to any address: jmp *(%rip), and the address.
struct FarJump {
  std::array<std::uint8_t, 6> instruction{0xff, 0x25, 0, 0, 0, 0};
  std::array<std::uint8_t, 8> target{};
  std::array<std::uint8_t, 2> padding{0xcc, 0xcc};
};
static_assert(sizeof(FarJump) == 16 && sizeof(FarJump) * max_slots <= slots_bytes);
// Where the function of this slot jumps to.
constexpr std::uint64_t far_jump_of_slot(std::uint64_t annex, std::size_t index) noexcept {
  return annex + slots_bytes + index * sizeof(FarJump);
}
RegionHead make_annex_head(const AgentImage& image);

// A region that is already in the process, of this version's agent or another's.
struct FoundRegion {
  std::uint64_t base;
  RegionHead head;
  std::vector<Slot> slots;
  std::uint64_t code_bytes;  // its executable part: where a jump of ours leads

  bool is_annex() const noexcept { return head.threads_offset == 0; }
};
std::vector<FoundRegion> find_regions(const TargetMemory& memory, const std::vector<Mapping>& maps);

// Whether a function of the process jumps into the region now (and not just in a fork child that inherited
// it).
bool is_in_use(const TargetMemory& memory, const FoundRegion& region);

// The slot of a function that jumps into the region now; nullptr: it does not.
const Slot* find_patch(const TargetMemory& memory, const FoundRegion& region, std::uint64_t function);

// Restores all original bytes. Every thread must be stopped. False: a write failed.
bool restore(const TargetMemory& memory, const FoundRegion& region);

}  // namespace heapwright::attach
