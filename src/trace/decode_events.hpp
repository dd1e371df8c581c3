// SPDX-License-Identifier: MIT
// Decodes the payload of an event chunk into a batch. Trusts nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/varint.hpp"
#include "trace/address_predictor.hpp"
#include "trace/block.hpp"
#include "trace/column.hpp"
#include "trace/event.hpp"
#include "trace/value_predictors.hpp"

namespace heapwright::trace {

class EventDecoder {
 public:
  // Replaces `batch` by the `count` events of `payload`, which begin at first_begin_ns. Throws TraceError
  // unless every column has the required length and every stack id is below `stacks`. Returns the largest
  // begin + duration. count <= max_events_per_chunk.
  std::uint64_t decode(std::span<const std::uint8_t> payload, std::size_t count, std::uint64_t first_begin_ns,
                       std::size_t stacks, EventBatch& batch);

 private:
  using Bytes = std::span<const std::uint8_t>;
  using Output = EventColumns<EventBatch>;
  enum WideColumn : std::uint8_t {
    begin_column,
    stack_column,
    size_column,
    usable_column,
    made_column,
    reference_column,
  };

  void unpack_columns(Bytes payload, std::size_t count);
  // The column's bytes, zeros if it was omitted; throws unless `bytes` long.
  const std::uint8_t* codes(ColumnId id, std::size_t bytes);
  base::ByteSource wide(ColumnId id) const;
  void decode_kinds(EventBatch& batch);
  void decode_alignments(EventBatch& batch);
  void decode_durations(EventBatch& batch);
  std::uint64_t decode_calls(std::uint64_t first_begin_ns, std::size_t stacks, EventBatch& batch);
  std::uint64_t wide_step(std::uint64_t begin_ns);
  void decode_stated_sizes(EventBatch& batch);
  void decode_old_address(std::uint8_t code, BlockIndex at, const Output& out);
  void decode_release(std::uint8_t code, BlockIndex at, const Output& out);
  BlockIndex decode_reference(std::uint8_t code, BlockIndex at, std::uint64_t& address);
  std::uint64_t decode_made(std::uint8_t code, BlockIndex at, const Output& out);
  std::uint64_t fresh_address(std::uint8_t code);
  BlockIndex living_block(std::uint8_t code, BlockIndex at);

  BlockUnpacker unpacker_;
  std::array<std::vector<std::uint8_t>, column_limit> memory_;
  std::array<Bytes, column_limit> columns_;
  std::vector<std::uint8_t> skipped_;
  std::array<std::uint8_t, max_events_per_chunk> zeros_{};
  std::size_t references_ = 0;  // entries of the reference column
  std::size_t made_ = 0;        // entries of the made_address column
  std::size_t aligned_ = 0;
  std::size_t stated_ = 0;                // references that state a size
  std::array<base::ByteSource, 6> wide_;  // by WideColumn
  std::array<BlockIndex, max_events_per_chunk> referred_;
  StackPredictor stacks_;
  SizePredictor sizes_;
  AddressPredictor addresses_;
};

}  // namespace heapwright::trace
