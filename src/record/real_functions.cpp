// SPDX-License-Identifier: MIT
#include "record/real_functions.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <malloc.h>
#include <sys/auxv.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "record/allocator_name.hpp"
#include "record/loaded_symbols.hpp"
#include "record/own_name_families.hpp"
#include "unwind/loaded_objects.hpp"

// glibc only.
extern "C" {
[[gnu::weak]] int dladdr1(const void*, Dl_info*, void**, int) noexcept;
[[gnu::visibility("hidden")]] void* heapwright_own_malloc(std::size_t size) noexcept;
}

namespace heapwright::record {

constinit RealFunctions real{};

namespace {

struct CodeRange {
  std::uintptr_t start;
  std::uintptr_t end;
};
CodeRange allocator_code;
CodeRange backend_code;  // of an allocator in two objects, such as tbbmalloc behind its proxy
CodeRange operator_code;
CodeRange own_code;
CodeRange libc_code;
CodeRange libdl_code;  // a library of its own before glibc 2.34
CodeRange loader_code;
// The C++ runtime's functions that allocate for an operator new. Other heap calls of that object are for the
// program: exceptions.
constexpr std::uint32_t max_operator_functions = 32;
CodeRange operator_functions[max_operator_functions];
std::atomic<std::uint32_t> operator_function_count;
// Callers known to be in one of these functions, to avoid repeated lookups.
constexpr std::uintptr_t known_caller_slots = 16;
std::atomic<const void*> known_callers[known_caller_slots];
bool is_glibc_allocator;

bool is_in(CodeRange code, const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) - code.start < code.end - code.start;
}

CodeRange code_around(void* function) noexcept {
  unwind::LoadedObject object;
  const bool is_found = unwind::find_loaded_object(reinterpret_cast<std::uintptr_t>(function), object);
  return is_found ? CodeRange{object.tables.start, object.tables.end} : CodeRange{0, UINTPTR_MAX};
}

// The object that contains `function`, or only `function` itself if that object also allocates exceptions.
CodeRange operator_code_around(void* function) noexcept {
  const CodeRange object = code_around(function);
  void* exceptions = dlsym(RTLD_NEXT, "__cxa_allocate_exception");
  if (!is_in(object, exceptions) || dladdr1 == nullptr) return object;
  Dl_info info;
  void* symbol = nullptr;
  if (dladdr1(function, &info, &symbol, RTLD_DL_SYMENT) == 0 || symbol == nullptr) return object;
  const auto start = reinterpret_cast<std::uintptr_t>(function);
  return {start, start + static_cast<const Elf64_Sym*>(symbol)->st_size};
}

void remember_operator(void* function) noexcept {
  const std::uint32_t index = operator_function_count.fetch_add(1, std::memory_order_relaxed);
  if (index < max_operator_functions) operator_functions[index] = operator_code_around(function);
}

// Out of line, because every operator new passes the lookup before it.
[[gnu::noinline]] bool find_operator_caller(const void* return_address,
                                            std::atomic<const void*>& known) noexcept {
  bool is_own = is_in(own_code, return_address);
  for (const CodeRange& function : operator_functions) is_own |= is_in(function, return_address);
  is_own |= is_call_of_heap(return_address);
  if (is_own) known.store(return_address, std::memory_order_relaxed);
  return is_own;
}

template <typename Function>
void find(Function*& function, const char* name) noexcept {
  function = find_next<Function>(name);
}

// A non-PIE program that takes a function's address has a linkage table entry for it, and that entry is then
// the function's address for all objects. Calls are bound past it.
bool is_linkage_entry(void* function) noexcept {
  Dl_info info;
  void* symbol = nullptr;
  if (dladdr1 == nullptr || dladdr1(function, &info, &symbol, RTLD_DL_SYMENT) == 0) return false;
  return symbol != nullptr && static_cast<const Elf64_Sym*>(symbol)->st_shndx == SHN_UNDEF;
}

std::size_t unknown_usable_bytes(void*) noexcept { return 0; }

// The next definition serves the program's own queries; a block's size is asked from the allocator that made
// the block.
void find_usable_size(bool is_of_program) noexcept {
  auto* first = &::malloc_usable_size;
  asm("" : "+r"(first));  // hides the function from the compiler, which knows the hook
  find(real.malloc_usable_size, "malloc_usable_size");
  real.usable_bytes = real.malloc_usable_size;
  if (!is_of_program) return;
  auto* address = reinterpret_cast<void*>(first);
  const bool knows_blocks = is_in(allocator_code, address) && !is_linkage_entry(address);
  real.usable_bytes = knows_blocks ? first : unknown_usable_bytes;
}

void find_program_realloc(bool is_of_program) noexcept {
  auto* first = &::realloc;
  asm("" : "+r"(first));  // as above
  real.program_realloc = is_of_program ? first : nullptr;
}

// libheapwright-count.so forwards calls; the allocator is the one after it.
void* malloc_behind_counter(void* next_malloc) noexcept {
  void* counted = dlsym(RTLD_NEXT, "heapwright_counted_malloc");
  return counted == nullptr ? next_malloc : reinterpret_cast<void* (*)()>(counted)();
}

}  // namespace

void* malloc_of_program() noexcept {
  auto* first = &::malloc;
  asm("" : "+r"(first));  // two names of one function, which the compiler assumes to differ
  auto* address = reinterpret_cast<void*>(first);
  return first == &heapwright_own_malloc || is_linkage_entry(address) ? nullptr : address;
}

// Not with glibc's dlerror(): it translates its text under the lock of setlocale(), which the code that made
// the program's first allocation may hold (newlocale() does), and treats that lock as its own. A successful
// lookup also drops the text. Other C libraries only return theirs.
void forget_failed_lookups() noexcept {
  if (dlsym(RTLD_NEXT, "gnu_get_libc_version") == nullptr) dlerror();
}

void find_real_functions() noexcept {
  // First the functions that may be absent. A failed lookup leaves an error text that libc frees at the next
  // lookup. That free must not reach an allocator that looks up its own functions at its first free() (as
  // tbbmalloc does): real.free is not yet set.
  void* next_malloc = dlsym(RTLD_NEXT, "malloc");
  void* malloc_linked_in = malloc_of_program();
  void* used_malloc = malloc_linked_in != nullptr ? malloc_linked_in : malloc_behind_counter(next_malloc);
  allocator_code = code_around(used_malloc);
  void* backend = dlsym(RTLD_NEXT, "scalable_malloc");
  find(real.pvalloc, "pvalloc");
  find(real.free_sized, "free_sized");
  find(real.free_aligned_sized, "free_aligned_sized");
  find(real.malloc_trim, "malloc_trim");
  find(real.mallopt, "mallopt");
  find_allocator_version(used_malloc);
  find(real.calloc, "calloc");
  find(real.realloc, "realloc");
  find(real.posix_memalign, "posix_memalign");
  find(real.aligned_alloc, "aligned_alloc");
  find(real.memalign, "memalign");
  find(real.valloc, "valloc");
  find_program_realloc(malloc_linked_in != nullptr);
  find_usable_size(malloc_linked_in != nullptr);
  find(real.mmap, "mmap");
  find(real.munmap, "munmap");
  find(real.mremap, "mremap");
  find(real.mprotect, "mprotect");
  find(real.madvise, "madvise");
  find(real.brk, "brk");
  find(real.sbrk, "sbrk");
  find(real.dlclose, "dlclose");
  find(real.prctl, "prctl");
  find(real.syscall, "syscall");
  find(real.free, "free");
  // malloc last: once it is set, nested calls stop using the early pool and rely on every other pointer.
  real.malloc = reinterpret_cast<void* (*)(std::size_t)>(next_malloc);
  own_code = code_around(reinterpret_cast<void*>(&find_real_functions));
  libc_code = code_around(reinterpret_cast<void*>(&getauxval));
  libdl_code = code_around(reinterpret_cast<void*>(&dladdr));
  loader_code = code_around(reinterpret_cast<void*>(getauxval(AT_BASE)));
  if (backend != nullptr && is_in(allocator_code, dlsym(RTLD_NEXT, "__TBB_malloc_proxy"))) {
    backend_code = code_around(backend);
  }
  is_glibc_allocator = is_in(allocator_code, dlsym(RTLD_NEXT, "gnu_get_libc_version"));
  forget_failed_lookups();
}

void* find_operator(const char* mangled_name) noexcept {
  void* next = dlsym(RTLD_NEXT, mangled_name);
  if (next == nullptr) {
    // Loaded with RTLD_LOCAL, so it is not in our search order; its callers are bound to us anyway, because
    // we come first in the global scope. Opening it would make the loader replace blocks that the program's
    // calls made, unseen.
    next = find_in_libstdcxx(mangled_name);
  }
  if (next == nullptr) {
    void* library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) library = dlopen("libc++.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library != nullptr) next = dlsym(library, mangled_name);
  }
  if (next != nullptr) {
    operator_code = code_around(next);
    if (mangled_name[2] == 'n') remember_operator(next);
  }
  forget_failed_lookups();
  return next;
}

bool is_call_of_heap(const void* return_address) noexcept {
  if (is_in(backend_code, return_address) || is_code_of_own_names(return_address)) return true;
  return !is_glibc_allocator && is_in(allocator_code, return_address);
}

bool is_call_of_libc(const void* return_address) noexcept {
  return is_in(libc_code, return_address) || is_in(libdl_code, return_address) ||
         is_in(loader_code, return_address);
}

// A real function that ends in a jump (operator delete to free) leaves the return address into the hook that
// called it. glibc's functions do not call the hooks: a call from libc is one by a signal handler (strdup,
// fopen).
bool is_call_of_allocator(const void* return_address) noexcept {
  return is_in(own_code, return_address) || is_in(operator_code, return_address) ||
         is_call_of_heap(return_address);
}

bool is_call_of_operator(const void* return_address) noexcept {
  const auto slot = reinterpret_cast<std::uintptr_t>(return_address) / 16 % known_caller_slots;
  std::atomic<const void*>& known = known_callers[slot];
  return known.load(std::memory_order_relaxed) == return_address ||
         find_operator_caller(return_address, known);
}

}  // namespace heapwright::record
