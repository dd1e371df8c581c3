// SPDX-License-Identifier: MIT
#include "record/sampling.hpp"

#include <sys/mman.h>

#include "platform/raw_syscall.hpp"
#include "platform/static_probe.hpp"

namespace heapwright::record {

constinit SampleSlots* sample_slots_memory;
constinit SamplesAlike samples_alike{};
constinit SamplePages sample_pages{};

bool prepare_sampling() noexcept {
  const long memory = platform::raw_syscall(SYS_mmap, 0, sizeof(SampleSlots), PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  if (memory < 0 && memory > -4096) return false;
  sample_slots_memory = reinterpret_cast<SampleSlots*>(memory);
  const auto begin = static_cast<std::uint64_t>(memory);
  process.block->sampled_set_begin.store(begin, std::memory_order_relaxed);
  process.block->sampled_set_end.store(begin + sizeof(SampleSlots), std::memory_order_relaxed);
  // In a fork child these are the parent's.
  for (auto& pages : sample_pages) {
    pages.store(0, std::memory_order_relaxed);
  }
  return true;
}

bool remember_sample(const void* block) noexcept { return sampled_blocks().add(block); }

// Both stay out of line: one place to probe, whose caller is the hook.
[[gnu::noinline]] bool begin_sample(const ThreadRecorder& thread, const void* block,
                                    std::size_t size) noexcept {
  if (!remember_sample(block)) return false;
  HEAPWRIGHT_PROBE3("otel_memory", "alloc", block, size, thread.sampling.weight_bytes);
  return true;
}

[[gnu::noinline]] void end_sample(const void* block) noexcept {
  HEAPWRIGHT_PROBE1("otel_memory", "free", block);
}

bool forget_sample(const void* block) noexcept { return sampled_blocks().remove(block); }

}  // namespace heapwright::record
