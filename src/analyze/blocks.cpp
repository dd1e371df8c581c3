// SPDX-License-Identifier: MIT
#include "analyze/blocks.hpp"

#include <bit>
#include <new>

namespace heapwright::analyze {
namespace {

constexpr std::size_t first_places = std::size_t{1} << 14;

}  // namespace

Blocks::Blocks() : places_(first_places), slots_(first_places / 4) { fit_index(); }

void Blocks::fit_index() {
  mask_ = places_.size() - 1;
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(places_.size()));
  limit_ = places_.size() / 2;
}

Slot* Blocks::look_up(std::uint64_t address) noexcept {
  const auto hash = hash_of(address);
  for (auto index = hash >> shift_;; index = (index + 1) & mask_) {
    const auto place = places_[index];
    if (place.tag == static_cast<std::uint32_t>(hash) && slots_[place.slot].address == address) {
      return &slots_[place.slot];
    }
    if (place.slot == 0) {
      return nullptr;
    }
  }
}

Slot& Blocks::look_up_or_make(std::uint64_t address) {
  const auto hash = hash_of(address);
  for (auto index = hash >> shift_;; index = (index + 1) & mask_) {
    auto& place = places_[index];
    if (place.tag == static_cast<std::uint32_t>(hash) && slots_[place.slot].address == address) {
      return slots_[place.slot];
    }
    if (place.slot == 0) {
      return make_slot(place, address);
    }
  }
}

Slot& Blocks::make_slot(Place& place, std::uint64_t address) {
  if (slots_end_ > limit_) {
    rebuild();
    return look_up_or_make(address);
  }
  if (slots_end_ == slots_.size()) {
    if (slots_end_ > UINT32_MAX / 2) {
      throw std::bad_alloc();
    }
    slots_.grow(slots_end_ * 2);
  }
  place = {static_cast<std::uint32_t>(hash_of(address)), static_cast<std::uint32_t>(slots_end_)};
  auto& slot = slots_[slots_end_++];
  slot.address = address;
  slot.flags = 0;
  return slot;
}

void Blocks::rebuild() {
  drop_dead_slots();
  // Grow unless at least half of the used slots were dead.
  const auto live = slots_end_ - 1;
  places_.reset(live > limit_ / 2 ? places_.size() * 2 : places_.size());
  fit_index();
  for (std::size_t number = 1; number < slots_end_; ++number) {
    const auto hash = hash_of(slots_[number].address);
    auto index = hash >> shift_;
    while (places_[index].slot != 0) {
      index = (index + 1) & mask_;
    }
    places_[index] = {static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(number)};
  }
}

// Keeps the order, and so the locality, of the others.
void Blocks::drop_dead_slots() {
  std::size_t to = 1;
  for (std::size_t from = 1; from < slots_end_; ++from) {
    if ((slots_[from].flags & slot_live) != 0) {
      slots_[to++] = slots_[from];
    }
  }
  for (std::size_t left = to; left < slots_end_; ++left) {
    slots_[left].address = 0;  // a hint may still point here
  }
  slots_end_ = to;
}

std::uint32_t Blocks::add_wide(const WideBlock& block) {
  if (!spare_wide_.empty()) {
    const auto index = spare_wide_.back();
    spare_wide_.pop_back();
    wide_[index] = block;
    return index;
  }
  wide_.push_back(block);
  return static_cast<std::uint32_t>(wide_.size() - 1);
}

}  // namespace heapwright::analyze
