// SPDX-License-Identifier: MIT
// Writes a trace of a made-up program: `sites` call stacks of very different
// frequency, each with its own sizes and lifetimes, on a heap that hands the
// latest freed block of a size out first.
//
//   write_synthetic_trace FILE [events] [threads] [sites] [live blocks]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

#include "trace/writer.hpp"

namespace {

using namespace heapwright::trace;

struct SiteModel {
  std::uint32_t stack;
  std::uint64_t size;
  std::uint64_t spread;  // sizes vary by up to this
  int fate;              // 0 temporary, 1 short, 2 long
};

struct Live {
  std::uint64_t address;
  std::uint64_t rounded;
};

class Program {
 public:
  Program(Writer& writer, std::uint32_t threads, std::uint32_t sites, std::size_t live_blocks)
      : writer_(writer), random_(42), live_blocks_(live_blocks), batches_(threads), sequences_(threads) {
    for (std::uint32_t index = 0; index < sites; ++index) {
      const auto size = std::uint64_t{8} << (random_() % 10);
      sites_.push_back({index + 1, size + random_() % size, random_() % 3 == 0 ? size : 0,
                        static_cast<int>(random_() % 8)});
    }
  }

  void run(std::uint64_t events) {
    while (events_ < events) {
      const auto thread = static_cast<std::uint32_t>(events_ / 512 % batches_.size());
      step(thread);
    }
    for (std::uint32_t thread = 0; thread < batches_.size(); ++thread) {
      flush(thread);
    }
  }

  std::uint64_t events() const { return events_; }
  std::uint64_t end_ns() const { return clock_ns_; }

 private:
  void step(std::uint32_t thread) {
    // Squaring a uniform number favours the first sites.
    const auto uniform = static_cast<double>(random_() >> 11) * 0x1.0p-53;
    const auto& site =
        sites_[static_cast<std::size_t>(std::pow(uniform, 4) * static_cast<double>(sites_.size()))];
    const auto block = allocate(thread, site);
    if (site.fate < 4) {
      release(thread, block);
    } else if (site.fate < 7) {
      short_.push_back(block);
      if (short_.size() > 64) {
        const auto index = short_.size() - 1 - random_() % 48;
        release(thread, short_[index]);
        short_.erase(short_.begin() + static_cast<std::ptrdiff_t>(index));
      }
    } else {
      long_.push_back(block);
      if (long_.size() > live_blocks_) {
        const auto index = random_() % long_.size();
        release(thread, long_[index]);
        long_[index] = long_.back();
        long_.pop_back();
      }
    }
  }

  Live allocate(std::uint32_t thread, const SiteModel& site) {
    const auto size = site.size + (site.spread != 0 ? random_() % site.spread : 0);
    const auto rounded = (size + 8 + 15) & ~std::uint64_t{15};
    auto& spare = spare_[rounded];
    std::uint64_t address = 0;
    if (spare.empty()) {
      address = top_;
      top_ += rounded;
    } else {
      address = spare.back();
      spare.pop_back();
    }
    put(thread, random_() % 3 == 0 ? EventKind::new_plain : EventKind::malloc_, size, rounded - 8, address,
        site.stack);
    return {address, rounded};
  }

  void release(std::uint32_t thread, const Live& block) {
    spare_[block.rounded].push_back(block.address);
    put(thread, EventKind::free_, 0, 0, block.address, 0);
  }

  void put(std::uint32_t thread, EventKind kind, std::uint64_t size, std::uint64_t usable,
           std::uint64_t address, std::uint32_t stack) {
    auto& batch = batches_[thread];
    const auto noise = random_();
    clock_ns_ += 80 + noise % 200;
    const auto duration = static_cast<std::uint32_t>(20 + (noise >> 20) % 16 +
                                                     ((noise >> 40) % 1000 == 0 ? (noise >> 50) * 4 : 0));
    batch.kind.push_back(kind);
    batch.alignment_log2.push_back(0);
    batch.duration_ns.push_back(duration / 4 * 4);
    batch.stack.push_back(stack);
    batch.begin_ns.push_back(clock_ns_ / 16 * 16);
    batch.size.push_back(size);
    batch.usable.push_back(usable);
    batch.address.push_back(address);
    batch.old_address.push_back(0);
    clock_ns_ += duration;
    ++events_;
    if (batch.count() == max_events_per_chunk) {
      flush(thread);
    }
  }

  void flush(std::uint32_t thread) {
    auto& batch = batches_[thread];
    if (batch.count() == 0) {
      return;
    }
    if (!writer_.write_events(thread, sequences_[thread], batch)) {
      std::perror("write_synthetic_trace");
      std::exit(2);
    }
    sequences_[thread] += batch.count();
    batch.clear();
  }

  Writer& writer_;
  std::mt19937_64 random_;
  std::size_t live_blocks_;
  std::vector<EventBatch> batches_;
  std::vector<std::uint64_t> sequences_;
  std::vector<SiteModel> sites_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> spare_;
  std::vector<Live> short_;
  std::vector<Live> long_;
  std::uint64_t top_ = 0x55550000;
  std::uint64_t clock_ns_ = 1000;
  std::uint64_t events_ = 0;
};

std::uint64_t argument(int argc, char** argv, int index, std::uint64_t otherwise) {
  return argc > index ? std::strtoull(argv[index], nullptr, 10) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    std::fprintf(stderr, "usage: write_synthetic_trace FILE [events] [threads] [sites] [live blocks]\n");
    return 2;
  }
  int error_number = 0;
  const auto writer = Writer::create(argv[1], true, error_number);
  if (!writer) {
    std::fprintf(stderr, "write_synthetic_trace: cannot create %s\n", argv[1]);
    return 2;
  }
  const auto threads = static_cast<std::uint32_t>(argument(argc, argv, 3, 1));
  const auto sites = static_cast<std::uint32_t>(argument(argc, argv, 4, 2000));
  Metadata metadata;
  metadata.program = "synthetic";
  writer->write(metadata);
  std::vector<Frame> frames(sites);
  std::vector<StackNode> nodes(sites);
  for (std::uint32_t index = 0; index < sites; ++index) {
    frames[index].pc = 0x400000 + index * 16;
    nodes[index] = {index < 40 ? 0 : index % 40 + 1, index};
  }
  writer->write(frames);
  writer->write(nodes);
  Program program(*writer, threads, sites, argument(argc, argv, 5, 50000));
  program.run(argument(argc, argv, 2, 25'000'000));
  End end;
  end.reason = EndReason::exited;
  end.time_ns = program.end_ns();
  end.events = program.events();
  return writer->finish(end) ? 0 : 2;
}
