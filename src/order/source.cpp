// SPDX-License-Identifier: MIT
#include "order/source.hpp"

namespace heapwright::order {
namespace {

class ReaderDecoder final : public ChunkDecoder {
 public:
  explicit ReaderDecoder(const trace::Reader& reader) : reader_(reader) {}
  void decode(const trace::EventChunk& chunk, trace::EventBatch& batch) override {
    reader_.decode(chunk, scratch_, batch);
  }

 private:
  const trace::Reader& reader_;
  trace::DecodeScratch scratch_;
};

class ReaderSource final : public Source {
 public:
  explicit ReaderSource(const trace::Reader& reader) : reader_(reader) {}
  const trace::Metadata& metadata() const override { return reader_.metadata(); }
  const std::vector<trace::Thread>& threads() const override { return reader_.threads(); }
  const std::vector<trace::MemorySample>& memory_samples() const override { return reader_.memory_samples(); }
  const std::vector<trace::Switch>& switches() const override { return reader_.switches(); }
  const std::vector<trace::ProcessorSample>& processor_samples() const override {
    return reader_.processor_samples();
  }
  const std::vector<trace::RefaultRun>& refaults() const override { return reader_.refaults(); }
  const trace::End& end() const override { return reader_.end(); }
  const std::vector<trace::EventChunk>& event_chunks() const override { return reader_.event_chunks(); }
  const std::vector<trace::Damage>& damage() const override { return reader_.damage(); }
  const std::vector<trace::Module>& modules() const override { return reader_.modules(); }
  const std::vector<trace::ScanChunk>& scans() const override { return reader_.scans(); }
  trace::ResidencyScan decode(const trace::ScanChunk& scan) const override { return reader_.decode(scan); }
  std::vector<trace::Mapping> mappings_of(const trace::ScanChunk& scan) const override {
    return reader_.mappings_of(scan);
  }
  std::size_t stack_count() const override { return reader_.stacks().size(); }
  std::uint64_t file_bytes() const override { return reader_.file_bytes(); }
  std::uint64_t event_count() const override { return reader_.event_count(); }
  std::unique_ptr<ChunkDecoder> make_decoder() const override {
    return std::make_unique<ReaderDecoder>(reader_);
  }

 private:
  const trace::Reader& reader_;
};

}  // namespace

std::unique_ptr<Source> make_source(const trace::Reader& reader) {
  return std::make_unique<ReaderSource>(reader);
}

}  // namespace heapwright::order
