// SPDX-License-Identifier: MIT
// Sizes and alignments that nobody can serve: the documented answer, errno,
// and a heap that is as it was before.
#include <malloc.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <new>
#include <vector>

#include "public_names.hpp"

namespace {

constexpr std::size_t half = SIZE_MAX / 2;  // PTRDIFF_MAX

std::size_t opaque(std::size_t value) {
  static volatile std::size_t kept;
  kept = value;
  return kept;
}

template <class Call>
void require_enomem(Call call) {
  errno = 0;
  REQUIRE(keep(call()) == nullptr);
  REQUIRE(errno == ENOMEM);
}

template <class Call>
void require_bad_alloc(Call call) {
  bool is_caught = false;
  try {
    keep(call());
  } catch (const std::bad_alloc&) {
    is_caught = true;
  }
  REQUIRE(is_caught);
}

// More than half of all addresses, at each distance from there and from the end at which rounding up to a
// block's step, a page, a unit or a MiB may wrap around.
std::vector<std::size_t> impossible_sizes() {
  std::vector<std::size_t> sizes{half};
  for (const std::size_t border :
       {std::size_t{16}, std::size_t{4096}, std::size_t{65'536}, std::size_t{1} << 20}) {
    for (std::size_t near = border - 2; near <= border + 2; ++near) {
      sizes.push_back(half + near);
      sizes.push_back(SIZE_MAX - near);
    }
  }
  for (std::size_t i = 0; i < 40; ++i) {
    sizes.push_back(half + 1 + i);
    sizes.push_back(SIZE_MAX - i);
  }
  return sizes;
}

void check_sizes() {
  for (std::size_t bytes : impossible_sizes()) {
    bytes = opaque(bytes);
    require_enomem([=] { return std::malloc(bytes); });
    require_enomem([=] { return std::calloc(1, bytes); });
    require_enomem([=] { return std::calloc(bytes, 1); });
    require_enomem([=] { return std::realloc(nullptr, bytes); });
    require_enomem([=] { return reallocarray(nullptr, bytes, 1); });
    require_enomem([=] { return reallocarray(nullptr, 1, bytes); });
    require_enomem([=] { return memalign(4096, bytes); });
    require_enomem([=] { return memalign(std::size_t{1} << 21, bytes); });
    require_enomem([=] { return memalign(64, bytes); });
    require_enomem([=] { return std::aligned_alloc(64, bytes); });
    require_enomem([=] { return valloc(bytes); });
    require_enomem([=] { return pvalloc(bytes); });
    require_bad_alloc([=] { return ::operator new(bytes); });
    require_bad_alloc([=] { return ::operator new[](bytes); });
    REQUIRE(::operator new(bytes, std::nothrow) == nullptr);
    REQUIRE(::operator new[](bytes, std::nothrow) == nullptr);
    // libstdc++'s own rounds such sizes up to nothing.
    if (is_preloaded()) require_bad_alloc([=] { return ::operator new (bytes, std::align_val_t{256}); });
    if (is_preloaded()) REQUIRE(::operator new[](bytes, std::align_val_t{64}, std::nothrow) == nullptr);
    void* into = &into;
    errno = 5;
    REQUIRE(posix_memalign(&into, 64, bytes) == ENOMEM);
    REQUIRE(into == &into);
    if (is_preloaded()) REQUIRE(errno == 5);
  }
}

void check_products() {
  struct Product {
    std::size_t count;
    std::size_t bytes;
  };
  const Product products[] = {{SIZE_MAX, 2},
                              {2, SIZE_MAX},
                              {std::size_t{1} << 32, std::size_t{1} << 32},
                              {half, 3},
                              {SIZE_MAX, SIZE_MAX}};
  for (const Product& product : products) {
    const std::size_t count = opaque(product.count);
    const std::size_t bytes = opaque(product.bytes);
    require_enomem([=] { return std::calloc(count, bytes); });
    require_enomem([=] { return reallocarray(nullptr, count, bytes); });
  }
  REQUIRE(keep(std::calloc(0, opaque(SIZE_MAX))) != nullptr);
  std::free(last_block);
}

// A request that fails leaves the old block whole.
void check_refused_growth() {
  for (std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{5000}, std::size_t{3'000'000}}) {
    auto* block = static_cast<unsigned char*>(std::malloc(bytes));
    std::memset(block, 0x5C, bytes);
    require_enomem([=] { return std::realloc(block, opaque(SIZE_MAX)); });
    require_enomem([=] { return std::realloc(block, opaque(half)); });
    require_enomem([=] { return reallocarray(block, opaque(half), 3); });
    REQUIRE(malloc_usable_size(block) >= bytes);
    for (std::size_t i = 0; i < bytes; ++i) REQUIRE(block[i] == 0x5C);
    std::free(block);
  }
}

void check_alignments() {
  void* into = &into;
  for (std::size_t alignment : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{4},
                                std::size_t{24}, std::size_t{4095}, std::size_t{SIZE_MAX}}) {
    errno = 5;
    REQUIRE(posix_memalign(&into, opaque(alignment), 100) == EINVAL);
    REQUIRE(into == &into && errno == 5);
  }
  const std::size_t huge = opaque(std::size_t{1} << 40);
  void* block = nullptr;
  const int error = posix_memalign(&block, huge, 100);
  // Either answer is right; a block has to be aligned.
  REQUIRE(error == ENOMEM || (error == 0 && reinterpret_cast<std::uintptr_t>(block) % huge == 0));
  std::free(block);
  require_enomem([=] { return memalign(opaque(std::size_t{1} << 62), 100); });
  for (const std::size_t beyond : {(std::size_t{1} << 63) + 1, SIZE_MAX - 1, SIZE_MAX}) {
    errno = 0;
    REQUIRE(memalign(opaque(beyond), 100) == nullptr && errno == EINVAL);
  }
  // 8 GiB: whoever refuses it says so, and the address space is there to take it. Where the machine has less
  // memory than that, the kernel refuses.
  const auto memory_bytes = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * 4096;
  for (const std::size_t far : {std::size_t{1} << 31, std::size_t{1} << 33}) {
    if (!is_preloaded() || memory_bytes < far + far / 8) continue;
    REQUIRE(posix_memalign(&block, opaque(far), 100) == 0);
    REQUIRE(reinterpret_cast<std::uintptr_t>(block) % far == 0);
    std::free(block);
  }
  if (!is_preloaded()) return;  // the C library rounds up instead
  for (std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{4097}}) {
    errno = 0;
    REQUIRE(std::aligned_alloc(opaque(alignment), 128) == nullptr && errno == EINVAL);
  }
}

void check_heaps() {
  if (!is_preloaded()) return;
  heapwright_heap* heap = heapwright_heap_create("limits");
  REQUIRE(heap != nullptr);
  for (std::size_t bytes : impossible_sizes()) {
    require_enomem([=] { return heapwright_heap_allocate(heap, opaque(bytes), 16); });
  }
  require_enomem([=] { return heapwright_heap_allocate(heap, 10, std::size_t{1} << 62); });
  for (std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{SIZE_MAX}}) {
    errno = 0;
    REQUIRE(heapwright_heap_allocate(heap, 10, opaque(alignment)) == nullptr);
    REQUIRE(errno == EINVAL);
  }
  heapwright_heap_statistics sums{};
  REQUIRE(heapwright_heap_get_statistics(heap, &sums) == 0);
  REQUIRE(sums.live_blocks == 0 && sums.live_bytes == 0);
  REQUIRE(heapwright_heap_get_statistics(heap, nullptr) == EINVAL);
  heapwright_heap_free(heap, nullptr);
  heapwright_heap_destroy(heap);
}

// errno survives calls that succeed.
void check_errno_is_kept() {
  errno = 42;
  for (std::size_t bytes : {std::size_t{8}, std::size_t{5000}, std::size_t{10'000'000}}) {
    void* block = keep(std::malloc(bytes));
    block = keep(std::realloc(block, bytes * 3));
    std::free(block);
    std::free(std::calloc(2, bytes));
    ::operator delete(::operator new(bytes));
  }
  REQUIRE(errno == 42);
}

}  // namespace

int main() {
  for (int round = 0; round < 3; ++round) {
    check_sizes();
    check_products();
    check_refused_growth();
    check_alignments();
    check_heaps();
    check_errno_is_kept();
    require_valid();
  }
  say("done\n");
  return 0;
}
