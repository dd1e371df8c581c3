// SPDX-License-Identifier: MIT
// The encoder's columns about addresses, and the stated sizes of releases, which are predicted from the block
// they refer to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/byte_sink.hpp"
#include "trace/address_predictor.hpp"
#include "trace/encoder_columns.hpp"
#include "trace/event.hpp"
#include "trace/living_blocks.hpp"

namespace heapwright::trace {

// Takes the events of a chunk in order, each through the function for its kind; `at` is the event's index in
// the chunk.
class AddressEncoder {
 public:
  void start() {
    addresses_.reset();
    living_.start();
    made_count_ = reference_count_ = 0;
    has_stated_ = false;
    for (base::ByteSink* column : {&made_wide_, &reference_wide_, &stated_size_, &stated_usable_}) {
      column->clear();
    }
  }

  [[gnu::always_inline]] void add_reference(BlockIndex at, const Event& event, std::uint8_t facts) {
    const BlockIndex block = encode_reference(at, event.address, (facts & KindFacts::keeps) == 0);
    std::uint64_t beyond = event.size;
    if ((facts & KindFacts::stated) != 0 && block != no_block) beyond -= sizes_[block];
    if ((beyond | event.usable) != 0 || has_stated_) [[unlikely]] {
      put_stated(at, beyond, event.usable);
    }
  }

  [[gnu::always_inline]] void add_made(BlockIndex at, const Event& event, std::uint8_t facts) {
    sizes_[at] = event.size;
    if ((facts & KindFacts::has_old) != 0) [[unlikely]] {
      encode_moved(at, event.old_address, event.address, event.usable);
    } else {
      encode_made(at, event.address, event.usable);
    }
  }

  // Allocating events so far.
  std::uint32_t made_count() const noexcept { return made_count_; }

  std::span<const std::uint8_t> made() const noexcept { return {made_.data(), made_count_}; }
  std::span<const std::uint8_t> made_wide() const noexcept { return made_wide_.bytes(); }
  std::span<const std::uint8_t> reference() const noexcept { return {reference_.data(), reference_count_}; }
  std::span<const std::uint8_t> reference_wide() const noexcept { return reference_wide_.bytes(); }
  // Empty if no size was stated.
  std::span<const std::uint8_t> stated_size() const noexcept { return stated_size_.bytes(); }
  std::span<const std::uint8_t> stated_usable() const noexcept { return stated_usable_.bytes(); }

 private:
  void put_made(std::uint8_t code) noexcept { made_[made_count_++] = code; }
  void put_reference(std::uint8_t code) noexcept { reference_[reference_count_++] = code; }

  [[gnu::noinline]] void put_stated(BlockIndex at, std::uint64_t beyond, std::uint64_t usable) {
    if (!has_stated_) {
      has_stated_ = true;
      // All events other than allocations are references.
      const std::uint32_t references_before = at - made_count_;
      stated_size_.put_zeros(references_before);
      stated_usable_.put_zeros(references_before);
    }
    stated_size_.put_signed(static_cast<std::int64_t>(beyond));
    stated_usable_.put(usable);
  }

  // Any live block with the event's address is accepted, even one that is hidden from `living_` by another
  // block with this address, because its release was never seen.
  [[gnu::always_inline]] BlockIndex encode_reference(BlockIndex at, std::uint64_t address, bool is_gone) {
    using namespace reference_code;
    if (address == 0) {
      put_reference(null);
      return no_block;
    }
    BlockIndex block = addresses_.newest();
    if (living_.address_of(block) == address) {
      put_reference(0);
    } else if (block = addresses_.cursor_newer(); living_.address_of(block) == address) {
      put_reference(newer);
    } else if (block = addresses_.cursor_older(); living_.address_of(block) == address) {
      put_reference(older);
    } else if (block = living_.find(address); block != no_block) {
      put_living(at, block);
    } else {
      put_elsewhere(address);
      return no_block;
    }
    if (is_gone) {
      addresses_.gone(block);
      living_.gone(block);
    }
    return block;
  }

  // For a block that is neither the newest nor a neighbour of the last freed.
  [[gnu::noinline]] void put_living(BlockIndex at, BlockIndex block) {
    using namespace reference_code;
    BlockIndex candidate = addresses_.newest();
    // Block indices increase with time, and no_block is above them all.
    for (std::uint8_t rank = 1; rank < ranks && candidate > block; ++rank) {
      candidate = addresses_.made_before(candidate);
      if (candidate == block) return put_reference(rank);
    }
    const std::uint32_t distance = static_cast<std::uint32_t>(at) - block;
    if (distance < near_limit) return put_reference(static_cast<std::uint8_t>(first_near + distance));
    put_reference(far);
    reference_wide_.put(distance);
  }

  [[gnu::noinline]] void put_elsewhere(std::uint64_t address) {
    using namespace reference_code;
    const std::uint64_t delta = address - addresses_.last_elsewhere;
    addresses_.last_elsewhere = address;
    const bool is_aligned = (delta & 15U) == 0;
    put_reference(is_aligned ? elsewhere : elsewhere_exact);
    const auto distance = static_cast<std::int64_t>(delta);
    reference_wide_.put_signed(is_aligned ? distance >> 4U : distance);
  }

  // realloc and mremap.
  [[gnu::noinline]] void encode_moved(BlockIndex at, std::uint64_t old_address, std::uint64_t address,
                                      std::uint64_t usable) {
    const BlockIndex old_block = encode_reference(at, old_address, true);
    if (address == 0 || address != old_address) return encode_made(at, address, usable);
    if (old_block != no_block) addresses_.forget_block(old_block);
    put_made(made_code::in_place);
    addresses_.made(at, AddressPredictor::class_of(usable));
    living_.made(at, address);
  }

  [[gnu::always_inline]] void encode_made(BlockIndex at, std::uint64_t address, std::uint64_t usable) {
    using namespace made_code;
    if (address == 0) [[unlikely]] {
      return put_made(null);
    }
    const auto block_class = AddressPredictor::class_of(usable);
    const BlockIndex latest = addresses_.released(block_class);
    if (living_.address_of(latest) != address) return encode_other(at, address, usable, block_class);
    addresses_.reuse(block_class, 0);
    put_made(0);
    addresses_.made(at, block_class);
    living_.made_in_place_of(latest, at);
  }

  // For a block that is not the one freed last in its class.
  [[gnu::noinline]] void encode_other(BlockIndex at, std::uint64_t address, std::uint64_t usable,
                                      AddressPredictor::BlockClass block_class) {
    using namespace made_code;
    BlockIndex candidate = addresses_.released(block_class);
    for (std::uint8_t rank = 0; rank < ranks && candidate != no_block; ++rank) {
      if (living_.address_of(candidate) == address) {
        addresses_.reuse(block_class, rank);
        put_made(rank);
        addresses_.made(at, block_class);
        return living_.made_in_place_of(candidate, at);
      }
      candidate = addresses_.released_before(candidate);
    }
    addresses_.forget(block_class);
    put_fresh(address, usable);
    addresses_.made(at, block_class);
    living_.made(at, address);
  }

  void put_fresh(std::uint64_t address, std::uint64_t usable) {
    using namespace made_code;
    const std::uint64_t difference = address - addresses_.fresh();
    const bool is_sequel = address == addresses_.sequel();
    addresses_.made_fresh(address, usable);
    if (is_sequel) return put_made(sequel);
    const auto distance = static_cast<std::int64_t>(difference);
    if ((difference & 15U) != 0) {
      put_made(delta_exact);
      return made_wide_.put_signed(distance);
    }
    const std::uint64_t folded = base::zigzag_encode(distance >> 4U);
    if (folded < near_limit) return put_made(static_cast<std::uint8_t>(first_near + folded));
    put_made(delta);
    made_wide_.put(folded);
  }

  AddressPredictor addresses_;
  LivingBlocks living_;
  std::uint32_t made_count_ = 0;
  std::uint32_t reference_count_ = 0;
  bool has_stated_ = false;
  base::ByteSink made_wide_;
  base::ByteSink reference_wide_;
  base::ByteSink stated_size_;
  base::ByteSink stated_usable_;
  CodeColumn made_;
  CodeColumn reference_;
  std::array<std::uint64_t, max_events_per_chunk> sizes_;  // allocated by each event
};

}  // namespace heapwright::trace
