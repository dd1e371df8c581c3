// SPDX-License-Identifier: MIT
#include "replay/plan_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "trace/damage.hpp"

namespace heapwright::replay {
namespace {

constexpr std::size_t all_buffers_bytes = std::size_t{64} << 20U;
constexpr std::size_t least_buffer = 64;  // operations
constexpr std::size_t most_buffer = 16384;
constexpr std::size_t turn_buffer = 65536;

}  // namespace

PlanWriter::PlanWriter(const std::string& path, std::span<const LaneBound> lanes, std::span<const Mark> marks,
                       bool has_times)
    : path_(path),
      buffers_(lanes.size()),
      stack_buffers_(lanes.size()),
      time_buffers_(lanes.size()),
      has_times_(has_times),
      marks_(marks.begin(), marks.end()),
      buffer_operations_(
          std::clamp(all_buffers_bytes / sizeof(Operation) / std::max<std::size_t>(lanes.size(), 1),
                     least_buffer, most_buffer)) {
  std::uint64_t offset = sizeof(Header) + lanes.size() * sizeof(Lane) + marks.size() * sizeof(Mark);
  for (const auto& bound : lanes) {
    lanes_.push_back({offset, 0, 0, 0, bound.thread, 0});
    limits_.push_back(bound.operations);
    offset += bound.operations * sizeof(Operation);
  }
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    lanes_[lane].stacks_offset = offset;
    offset += lanes[lane].operations * sizeof(std::uint32_t);
  }
  for (std::size_t lane = 0; has_times && lane < lanes.size(); ++lane) {
    lanes_[lane].times_offset = offset;
    offset += lanes[lane].operations * sizeof(std::uint64_t);
  }
  turns_offset_ = offset;
  turns_.reserve(turn_buffer);
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor_ < 0) {
    throw trace::TraceError("cannot write the plan " + path_ + ": " + std::strerror(errno));
  }
}

PlanWriter::~PlanWriter() {
  if (descriptor_ >= 0) close(descriptor_);
}

void PlanWriter::add(std::uint32_t lane, const Operation& operation, std::uint32_t stack) {
  if (lanes_[lane].count == limits_[lane]) {
    throw trace::TraceError("a thread has more calls than the recording says: record it again");
  }
  auto& buffer = buffers_[lane];
  if (buffer.capacity() == 0) buffer.reserve(buffer_operations_);
  buffer.push_back(operation);
  stack_buffers_[lane].push_back(stack);
  if (has_times_) time_buffers_[lane].push_back(due_ns_);
  last_due_ns_ = std::max(last_due_ns_, due_ns_);
  largest_stack_ = std::max(largest_stack_, stack);
  ++lanes_[lane].count;
  if (buffer.size() == buffer_operations_) flush(lane);
  if (turn_.lane != lane || turn_.count == UINT32_MAX) {
    end_turn();
    turn_ = {lane, 0};
  }
  ++turn_.count;
}

Operation PlanWriter::read_back(std::uint32_t lane, std::uint64_t operation) const {
  const auto offset = lanes_[lane].offset + operation * sizeof(Operation);
  Operation found;
  if (pread(descriptor_, &found, sizeof(found), static_cast<off_t>(offset)) != sizeof(found)) {
    throw trace::TraceError("cannot read the plan " + path_ + ": " + std::strerror(errno));
  }
  return found;
}

void PlanWriter::write_back(std::uint32_t lane, std::uint64_t operation, const Operation& changed) {
  write_at(lanes_[lane].offset + operation * sizeof(Operation), &changed, sizeof(changed));
}

Header PlanWriter::finish(Header header) {
  end_turn();
  write_at(turns_offset_ + turns_written_ * sizeof(Turn), turns_.data(), turns_.size() * sizeof(Turn));
  turns_written_ += turns_.size();
  turns_.clear();
  header.operations = 0;
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    flush(lane);
    header.operations += lanes_[lane].count;
  }
  header.lanes = static_cast<std::uint32_t>(lanes_.size());
  header.marks = static_cast<std::uint32_t>(marks_.size());
  header.turns = turns_written_;
  header.stacks = std::uint64_t{largest_stack_} + 1;
  header.turns_offset = turns_offset_;
  header.has_times = has_times_ ? 1 : 0;
  header.program_ns = last_due_ns_;
  write_at(sizeof(Header), lanes_.data(), lanes_.size() * sizeof(Lane));
  write_at(sizeof(Header) + lanes_.size() * sizeof(Lane), marks_.data(), marks_.size() * sizeof(Mark));
  write_at(0, &header, sizeof(header));
  return header;
}

void PlanWriter::flush(std::uint32_t lane) {
  const Lane& own = lanes_[lane];
  flush(buffers_[lane], own.offset, own.count);
  flush(stack_buffers_[lane], own.stacks_offset, own.count);
  flush(time_buffers_[lane], own.times_offset, own.count);
}

template <typename Entry>
void PlanWriter::flush(std::vector<Entry>& buffer, std::uint64_t offset, std::uint64_t operations) {
  const auto first = operations - buffer.size();
  write_at(offset + first * sizeof(Entry), buffer.data(), buffer.size() * sizeof(Entry));
  buffer.clear();
}

void PlanWriter::end_turn() {
  if (turn_.count == 0) return;
  turns_.push_back(turn_);
  turn_.count = 0;
  if (turns_.size() < turn_buffer) return;
  write_at(turns_offset_ + turns_written_ * sizeof(Turn), turns_.data(), turns_.size() * sizeof(Turn));
  turns_written_ += turns_.size();
  turns_.clear();
}

void PlanWriter::write_at(std::uint64_t offset, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const auto written = pwrite(descriptor_, at, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      throw trace::TraceError("no room for the plan " + path_ + ": " + std::strerror(errno) +
                              (errno == EFBIG ? "; raise the limit of file sizes (ulimit -f)"
                                              : "; set TMPDIR to a folder on a larger disk"));
    }
    at += written;
    bytes -= static_cast<std::size_t>(written);
    offset += static_cast<std::uint64_t>(written);
  }
}

}  // namespace heapwright::replay
