// SPDX-License-Identifier: MIT
#include "count/real_functions.hpp"

#include <dlfcn.h>
#include <malloc.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "count/thread.hpp"
#include "platform/early_pool.hpp"
#include "platform/next_symbols.hpp"

namespace heapwright::count {

namespace {

using platform::early_allocate;
using platform::object_of;

constexpr std::size_t page_bytes = 4096;

void* early_malloc(std::size_t size) { return early_allocate(size); }
void* early_calloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  return __builtin_mul_overflow(count, size, &bytes) ? nullptr : early_allocate(bytes);
}
void* early_realloc(void* block, std::size_t size) {
  return block == nullptr ? early_allocate(size) : nullptr;
}
void early_free(void*) {}  // for a heap that is not known yet
void* early_aligned(std::size_t alignment, std::size_t size) { return early_allocate(size, alignment); }
void* early_page(std::size_t size) { return early_allocate(size, page_bytes); }
int early_posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  *result = early_allocate(size, alignment);
  return *result == nullptr ? ENOMEM : 0;
}
std::size_t unknown_usable_bytes(void*) { return 0; }

}  // namespace

constinit RealFunctions real{.malloc = early_malloc,
                             .calloc = early_calloc,
                             .realloc = early_realloc,
                             .free = early_free,
                             .posix_memalign = early_posix_memalign,
                             .aligned_alloc = early_aligned,
                             .memalign = early_aligned,
                             .valloc = early_page,
                             .pvalloc = early_page,
                             .free_sized = nullptr,
                             .free_aligned_sized = nullptr,
                             .malloc_usable_size = unknown_usable_bytes};
constinit bool are_real_functions_found = false;
constinit Allocator allocator{};

namespace {

// Functions that the next allocator lacks come from the early pool, which serves little, or are absent.
template <typename Function>
void find(Function*& function, const char* name) noexcept {
  auto* next = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  if (next != nullptr) function = next;
}

// Tries small blocks, which changes nothing that another program could see. Also for other allocators: the
// first call makes tcmalloc allocate, which must not happen inside a hook.
bool has_glibc_headers() noexcept {
  bool agrees =
      object_of(dlsym(RTLD_NEXT, "gnu_get_libc_version")) == allocator.object && allocator.knows_usable;
  for (const std::size_t size : {1, 24, 25, 100, 1000}) {
    void* block = real.malloc(size);
    if (block == nullptr) return false;
    const std::size_t usable = real.malloc_usable_size(block);
    agrees = agrees && platform::usable_by_glibc_header(block) == usable;
    real.free(block);
  }
  return agrees;
}

// The recorder's calls ours.
bool is_ours(const char* name) noexcept {
  const void* other = platform::other_first(name, &allocator);
  return other == nullptr || platform::is_in_file(other, {"libheapwright-record.so"});
}

void describe_allocator(const void* used_malloc) noexcept {
  const platform::LoadedFile file = platform::file_of(used_malloc);
  allocator.object = file.begin;
  std::memcpy(allocator.file, file.name, strnlen(file.name, sizeof allocator.file - 1));
}

}  // namespace

// Not with glibc's dlerror(): it translates its text under the lock of setlocale(), which the code that made
// the program's first allocation may hold. A successful lookup also drops the text.
void forget_failed_lookups() noexcept {
  if (dlsym(RTLD_NEXT, "gnu_get_libc_version") == nullptr) dlerror();
}

namespace {

// A libc whose calloc and similar functions call malloc, through its public name and so through our hook.
RealFunctions nesting{};

template <typename Call>
auto call_aside(Call call) noexcept {
  Thread* const thread = step_aside();
  const auto result = call();
  step_back(thread);
  return result;
}

// musl's do; glibc's do not, and other allocators call their own functions.
bool is_nesting_libc() noexcept {
  return dlsym(RTLD_NEXT, "gnu_get_libc_version") == nullptr &&
         object_of(dlsym(RTLD_NEXT, "getauxval")) == allocator.object;
}

void call_nesting_functions_aside() noexcept {
  nesting = real;
  real.calloc = [](std::size_t count, std::size_t size) {
    return call_aside([=] { return nesting.calloc(count, size); });
  };
  real.realloc = [](void* block, std::size_t size) {
    return call_aside([=] { return nesting.realloc(block, size); });
  };
  real.posix_memalign = [](void** result, std::size_t alignment, std::size_t size) {
    return call_aside([=] { return nesting.posix_memalign(result, alignment, size); });
  };
  real.aligned_alloc = [](std::size_t alignment, std::size_t size) {
    return call_aside([=] { return nesting.aligned_alloc(alignment, size); });
  };
  real.memalign = [](std::size_t alignment, std::size_t size) {
    return call_aside([=] { return nesting.memalign(alignment, size); });
  };
  real.valloc = [](std::size_t size) { return call_aside([=] { return nesting.valloc(size); }); };
}

}  // namespace

void find_real_functions() noexcept {
  void* next_malloc = dlsym(RTLD_NEXT, "malloc");
  describe_allocator(next_malloc);
  find(real.pvalloc, "pvalloc");
  find(real.free_sized, "free_sized");
  find(real.free_aligned_sized, "free_aligned_sized");
  find(real.calloc, "calloc");
  find(real.realloc, "realloc");
  find(real.posix_memalign, "posix_memalign");
  find(real.aligned_alloc, "aligned_alloc");
  find(real.memalign, "memalign");
  find(real.valloc, "valloc");
  find(real.malloc_usable_size, "malloc_usable_size");
  // Another allocator's function would read whatever precedes a block.
  allocator.knows_usable = object_of(reinterpret_cast<void*>(real.malloc_usable_size)) == allocator.object;
  if (!allocator.knows_usable) real.malloc_usable_size = unknown_usable_bytes;
  allocator.is_own_of_program = !is_ours("malloc");
  find(real.free, "free");
  find(real.malloc, "malloc");
  allocator.has_glibc_headers = has_glibc_headers();
  if (is_nesting_libc()) call_nesting_functions_aside();
  are_real_functions_found = true;
  forget_failed_lookups();
}

void find_operator(Operator& wanted) noexcept {
  void* next = platform::next_operator(wanted.mangled_name);
  // A runtime's operator new[] calls operator new, which calls a malloc that may be the program's own.
  const bool are_ours = is_ours("_Znwm") && is_ours("_ZdlPv") && !allocator.is_own_of_program;
  wanted.next = next;
  OperatorKind kind = OperatorKind::foreign;
  if (next != nullptr && object_of(next) == allocator.object) kind = OperatorKind::of_allocator;
  if (next != nullptr && are_ours && platform::is_in_cpp_runtime(next)) kind = OperatorKind::of_runtime;
  if (are_real_functions_found) wanted.kind.store(kind, std::memory_order_release);
  forget_failed_lookups();
}

}  // namespace heapwright::count
