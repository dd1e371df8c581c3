// SPDX-License-Identifier: MIT
// Time and room per event to encode and decode chunks of a made-up program.
// Items are events; bytes_per_event is the chunk's payload.
#include <benchmark/benchmark.h>

#include <memory>

#include "program_thread.hpp"
#include "trace/decode_events.hpp"
#include "trace/encode_events.hpp"

namespace {

using namespace heapwright::trace;

struct EncodedChunk {
  EventBatch batch;
  std::vector<std::uint8_t> payload;
  EncodedTimes times;
};

EncodedTimes encode(EventEncoder& encoder, BlockPacker& packer, const EventBatch& batch,
                    std::vector<std::uint8_t>& payload) {
  encoder.start(0);
  encoder.add(batch);
  return encoder.finish(packer, payload);
}

// Not the program's first chunk: its heap is warm by then.
EncodedChunk make_chunk(std::size_t events) {
  test::ProgramThread program(1);
  program.run(200'000);
  EncodedChunk chunk;
  chunk.batch = program.run(events);
  BlockPacker packer;
  chunk.times = encode(*std::make_unique<EventEncoder>(), packer, chunk.batch, chunk.payload);
  return chunk;
}

void report(benchmark::State& state, const EncodedChunk& chunk) {
  const auto events = static_cast<double>(chunk.batch.count());
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["bytes_per_event"] = static_cast<double>(chunk.payload.size()) / events;
}

void encode_chunk(benchmark::State& state) {
  const EncodedChunk chunk = make_chunk(static_cast<std::size_t>(state.range(0)));
  const auto encoder = std::make_unique<EventEncoder>();
  BlockPacker packer;
  std::vector<std::uint8_t> payload;
  for (auto _ : state) {
    payload.clear();
    benchmark::DoNotOptimize(encode(*encoder, packer, chunk.batch, payload));
  }
  report(state, chunk);
}
BENCHMARK(encode_chunk)->Arg(64)->Arg(1024)->Arg(32768);

void decode_chunk(benchmark::State& state) {
  const EncodedChunk chunk = make_chunk(static_cast<std::size_t>(state.range(0)));
  const auto decoder = std::make_unique<EventDecoder>();
  EventBatch batch;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        decoder->decode(chunk.payload, chunk.batch.count(), chunk.times.first_begin_ns, 400, batch));
  }
  report(state, chunk);
}
BENCHMARK(decode_chunk)->Arg(64)->Arg(1024)->Arg(32768);

}  // namespace
