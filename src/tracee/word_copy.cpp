// SPDX-License-Identifier: MIT
#include "tracee/word_copy.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <future>
#include <iterator>
#include <thread>

#include "tracee/process_status.hpp"

namespace heapwright::tracee {
namespace {

constexpr std::uint64_t page_bytes = 4096;
// Huge pages are touched, and written to, several times faster.
constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20U;
// What a reader takes at a time: more than the words and places of a piece can need.
constexpr std::uint64_t slice_bytes = std::uint64_t{1} << 20U;
// What is read at a time stays in the processor's cache until it has been looked through.
constexpr std::uint64_t read_bytes = std::uint64_t{1} << 18U;
// One more reader for each so many bytes, as long as there are processors: the process does not use them.
constexpr std::uint64_t bytes_per_reader = std::uint64_t{8} << 20U;
constexpr std::uint64_t most_readers = 4;
constexpr std::uint64_t sampled_pieces = 256;

std::uint64_t bytes_in(std::span<const WordCopy::Range> memory) {
  std::uint64_t bytes = 0;
  for (const WordCopy::Range& range : memory) bytes += range.end - range.begin;
  return bytes;
}

// Copies the words at `from` that are wanted, and where they are; there is room for all. Returns how many.
template <std::uint64_t step_bytes>
std::size_t select_words(const std::byte* from, std::uint64_t bytes, WordCopy::Range values,
                         std::uint64_t* words, std::uint16_t* places) {
  const std::uint64_t width = values.end - values.begin;
  std::size_t count = 0;
  for (std::uint64_t at = 0; at < bytes; at += step_bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + at, sizeof word);
    words[count] = word;
    places[count] = static_cast<std::uint16_t>(at);
    count += word - values.begin < width ? 1 : 0;
  }
  return count;
}

std::size_t select_words(const std::byte* from, std::uint64_t bytes, const WordCopy::Wish& wish,
                         std::uint64_t* words, std::uint16_t* places) {
  return wish.step_bytes == 1 ? select_words<1>(from, bytes, wish.values, words, places)
                              : select_words<WordCopy::word_bytes>(from, bytes, wish.values, words, places);
}

// The process itself may not be allowed to read a page: a debugger's file shows it.
std::size_t read_by_file(pid_t process, std::uint64_t address, void* to, std::size_t bytes) noexcept {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/mem", process);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t done = pread(file, to, bytes, static_cast<off_t>(address));
  close(file);
  return done > 0 ? static_cast<std::size_t>(done) : 0;
}

}  // namespace

std::size_t read_memory(pid_t process, std::uint64_t address, void* to, std::size_t bytes) noexcept {
  iovec local{to, bytes};
  iovec remote{reinterpret_cast<void*>(address), bytes};
  ssize_t result = process_vm_readv(process, &local, 1, &remote, 1, 0);
  if (result < 0 && errno == ESRCH) {
    process = with_memory(process);
    result = process_vm_readv(process, &local, 1, &remote, 1, 0);
  }
  if (result < 0 && errno != EFAULT) return 0;
  const std::size_t done = result < 0 ? 0 : static_cast<std::size_t>(result);
  if (done == bytes) return done;
  return done + read_by_file(process, address + done, static_cast<std::byte*>(to) + done, bytes - done);
}

// Reads parts of the memory, beside others.
class WordCopy::Reader {
 public:
  Reader(WordCopy& copy, pid_t process, const Wish& wish)
      : copy_(copy),
        process_(process),
        wish_(wish),
        bytes_(read_bytes + word_bytes),
        words_(piece_bytes / wish.step_bytes),
        places_(piece_bytes / wish.step_bytes) {}

  // The memory goes on until `end`: words that begin in `part` may end behind it. False: no memory is left.
  bool read(Range part, std::uint64_t end) {
    for (std::uint64_t at = part.begin; at < part.end;) {
      const std::uint64_t wanted = std::min(end, part.end + word_bytes) - at;
      const std::uint64_t done = read_memory(process_, at, bytes_.data(), wanted);
      const Range words{at, std::min(part.end, at + done - std::min(done, word_bytes - 1))};
      for (std::uint64_t from = words.begin; from < words.end; from += piece_bytes) {
        if (!put({from, std::min(words.end, from + piece_bytes)}, bytes_.data() + (from - at))) return false;
      }
      at += done;
      if (done < wanted) at = (at / page_bytes + 1) * page_bytes;  // this page went away
    }
    return true;
  }

  std::vector<Piece> pieces;

 private:
  bool put(Range piece, const std::byte* from) {
    const std::size_t count =
        select_words(from, piece.end - piece.begin, wish_, words_.data(), places_.data());
    if (count == 0) return true;
    const std::uint64_t bytes = count * (sizeof words_[0] + sizeof places_[0]);
    if (left_ < bytes) {
      at_ = copy_.next_slice();
      if (at_ == nullptr) return false;
      left_ = slice_bytes;
    }
    std::byte* const places = at_ + count * sizeof words_[0];
    std::memcpy(at_, words_.data(), count * sizeof words_[0]);
    std::memcpy(places, places_.data(), count * sizeof places_[0]);
    pieces.push_back({piece.begin, piece.begin, static_cast<std::uint32_t>(count),
                      reinterpret_cast<const std::uint64_t*>(at_),
                      reinterpret_cast<const std::uint16_t*>(places)});
    const std::uint64_t taken = std::min(left_, (bytes + word_bytes - 1) / word_bytes * word_bytes);
    at_ += taken;
    left_ -= taken;
    return true;
  }

  WordCopy& copy_;
  pid_t process_;
  Wish wish_;
  std::vector<std::byte> bytes_;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint16_t> places_;
  std::byte* at_ = nullptr;
  std::uint64_t left_ = 0;
};

std::uint64_t WordCopy::expected_bytes(pid_t process, std::span<const Range> memory, const Wish& wish) {
  const std::uint64_t apart = std::max(piece_bytes, bytes_in(memory) / sampled_pieces);
  std::vector<std::byte> bytes(piece_bytes);
  std::vector<std::uint64_t> words(piece_bytes / wish.step_bytes);
  std::vector<std::uint16_t> places(words.size());
  std::uint64_t read = 0;
  std::uint64_t found = 0;
  std::uint64_t skip = 0;  // before the next sample
  for (const Range& range : memory) {
    for (std::uint64_t at = range.begin + skip; at < range.end; at += apart) {
      const std::uint64_t done =
          read_memory(process, at, bytes.data(), std::min(piece_bytes, range.end - at));
      if (done < word_bytes) continue;
      found += select_words(bytes.data(), done - (word_bytes - 1), wish, words.data(), places.data());
      read += done;
    }
    const std::uint64_t passed = range.end - range.begin;
    skip = passed <= skip ? skip - passed : apart - 1 - (passed - skip - 1) % apart;
  }
  constexpr std::uint64_t found_bytes = word_bytes + sizeof(std::uint16_t);
  if (read == 0) return 0;
  const double share = static_cast<double>(found * found_bytes) / static_cast<double>(read);
  return static_cast<std::uint64_t>(share * static_cast<double>(bytes_in(memory)));
}

WordCopy::WordCopy(std::uint64_t expected_bytes, std::uint64_t most_bytes) : most_bytes_(most_bytes) {
  const std::uint64_t with_spare = expected_bytes + expected_bytes / 4 + slice_bytes;
  if (!add_area(std::min(with_spare, most_bytes))) return;
  const Area& area = areas_.back();
  for (std::uint64_t at = 0; at < area.bytes; at += page_bytes) area.begin[at] = std::byte{0};
}

WordCopy::~WordCopy() {
  for (const Area& area : areas_) munmap(area.begin, area.bytes);
}

bool WordCopy::add_area(std::uint64_t bytes) {
  const std::uint64_t rounded = (bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
  std::uint64_t used = 0;
  for (const Area& area : areas_) used += area.bytes;
  if (rounded == 0 || used + rounded > most_bytes_) return false;
  void* const made = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return false;
  madvise(made, rounded, MADV_HUGEPAGE);
  areas_.push_back({static_cast<std::byte*>(made), rounded, 0});
  return true;
}

// nullptr: there is not enough memory.
std::byte* WordCopy::next_slice() {
  constexpr std::uint64_t more_bytes = std::uint64_t{64} << 20U;
  const std::lock_guard lock(mutex_);
  auto area =
      std::find_if(areas_.begin(), areas_.end(), [](const Area& one) { return one.used < one.bytes; });
  if (area == areas_.end()) {
    if (!add_area(more_bytes) && !add_area(huge_page_bytes)) return nullptr;
    area = std::prev(areas_.end());
  }
  std::byte* const slice = area->begin + area->used;
  area->used += slice_bytes;
  return slice;
}

bool WordCopy::take(pid_t process, std::span<const Range> memory, const Wish& wish) {
  struct Part {
    Range range;
    std::uint64_t end = 0;  // of the memory that it is a part of
  };
  std::vector<Part> parts;
  for (const Range& range : memory) {
    for (std::uint64_t at = range.begin; at < range.end; at += read_bytes) {
      parts.push_back({{at, std::min(range.end, at + read_bytes)}, range.end});
    }
  }
  std::atomic<std::size_t> next{0};
  std::atomic<bool> is_whole{true};
  const auto read_parts = [&] {
    Reader reader(*this, process, wish);
    for (std::size_t part = next++; part < parts.size() && is_whole; part = next++) {
      if (!reader.read(parts[part].range, parts[part].end)) is_whole = false;
    }
    return std::move(reader.pieces);
  };
  const std::uint64_t readers =
      std::min<std::uint64_t>({most_readers, std::max(1U, std::thread::hardware_concurrency()),
                               1 + bytes_in(memory) / bytes_per_reader});
  std::vector<std::future<std::vector<Piece>>> others;
  for (std::uint64_t i = 1; i < readers; ++i) {
    others.push_back(std::async(std::launch::async, read_parts));
  }
  std::vector<Piece> found = read_parts();
  pieces_.insert(pieces_.end(), found.begin(), found.end());
  for (auto& other : others) {
    found = other.get();
    pieces_.insert(pieces_.end(), found.begin(), found.end());
  }
  std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  return is_whole;
}

void WordCopy::keep_only(std::span<const Range> memory) {
  std::vector<Piece> kept;
  auto range = memory.begin();
  for (const Piece& piece : pieces_) {
    while (range != memory.end() && range->end <= piece.begin) ++range;
    for (auto in = range; in != memory.end() && in->begin < piece.base + piece_bytes; ++in) {
      const std::uint16_t* const from = piece.place_of(std::max(in->begin, piece.begin));
      // Words may end behind their piece, and none behind the range.
      const std::uint16_t* const to = piece.place_of(std::max(in->end, word_bytes) - (word_bytes - 1));
      if (from >= to) continue;
      kept.push_back({std::max(in->begin, piece.begin), piece.base, static_cast<std::uint32_t>(to - from),
                      piece.words + (from - piece.places), from});
    }
  }
  pieces_ = std::move(kept);
  if (!pieces_.empty()) return;
  for (Area& area : areas_) area.used = 0;
}

}  // namespace heapwright::tracee
