// SPDX-License-Identifier: MIT
// length: each is one pattern of instructions, and all share the reading of code that may vanish.
#include "unwind/return_address.hpp"

#include <elf.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "platform/raw_syscall.hpp"
#include "unwind/call_frame_rules.hpp"
#include "unwind/loaded_objects.hpp"
#include "unwind/restoring_code.hpp"
#include "unwind/stack_bounds.hpp"

extern "C" unsigned long getauxval(unsigned long type) noexcept;

namespace heapwright::unwind {
namespace {

const std::uint8_t* bytes_at(std::uint64_t address) { return reinterpret_cast<const std::uint8_t*>(address); }

std::atomic<bool> may_ask_for_copies{false};

// False: not all of it is readable.
bool copy_memory(std::uint64_t from, std::uint64_t bytes, void* to) {
  const iovec here{to, bytes};
  const iovec there{reinterpret_cast<void*>(from), bytes};
  const long copied =
      platform::raw_syscall(SYS_process_vm_readv, platform::raw_syscall(SYS_getpid),
                            platform::raw_argument(&here), 1, platform::raw_argument(&there), 1, 0);
  return copied == static_cast<long>(bytes);
}

// Code that may be read: all of an object's; elsewhere only the page of `running`, from which the thread will
// go on, directly. A runtime's other threads may unmap any other between a check and the reading: the kernel
// copies from these.
class Code {
 public:
  Code(std::uint64_t at, std::uint64_t running, const std::atomic<std::uint32_t>* is_confined)
      : is_confined_(is_confined), running_page_(page_of(running)) {
    is_in_object_ = find_loaded_object(at, object_);
  }

  bool is_in_object() const { return is_in_object_; }
  const LoadedObject& object() const { return object_; }

  // `count` (at most 16) bytes from `address` on; nullptr: they may not be read. Valid until the next call.
  const std::uint8_t* read(std::uint64_t address, std::uint64_t count) {
    if (has(address) && has(address + count - 1)) return bytes_at(address);
    return is_in_object_ ? nullptr : copied(address, count);
  }

 private:
  static std::uint64_t page_of(std::uint64_t address) { return address & ~(StackBounds::page_bytes - 1); }

  bool has(std::uint64_t address) {
    const std::uint64_t page = page_of(address);
    if (page == known_page_) return true;
    const bool is_code = is_in_object_ ? is_code_of(object_, address)
                                       : page == running_page_ && is_page_readable(is_confined_, address);
    if (is_code) known_page_ = page;
    return is_code;
  }

  // With what is before it on its page, for a search backwards.
  const std::uint8_t* copied(std::uint64_t address, std::uint64_t count) {
    if (address < copy_begin_ || address + count > copy_end_) {
      if (!may_ask_for_copies.load(std::memory_order_relaxed)) return nullptr;
      if (is_confined_ != nullptr && is_confined_->load(std::memory_order_relaxed) != 0) return nullptr;
      const std::uint64_t end = address + count;
      const std::uint64_t begin = std::max(page_of(address), end - sizeof copy_);
      copy_begin_ = begin;
      copy_end_ = copy_memory(begin, end - begin, copy_) ? end : begin;
      if (copy_end_ == begin) return nullptr;
    }
    return copy_ + (address - copy_begin_);
  }

  static constexpr std::uint64_t no_page = 1;  // small numbers on a stack are looked up, too: not 0

  const std::atomic<std::uint32_t>* is_confined_;
  std::uint64_t running_page_;
  LoadedObject object_;
  bool is_in_object_ = false;
  std::uint64_t known_page_ = no_page;
  std::uint64_t copy_begin_ = 0;
  std::uint64_t copy_end_ = 0;
  std::uint8_t copy_[512];
};

// What was found of code, where each answer takes searches in an object's tables, or system calls in no
// object. The latter code may be replaced at any time, so such an answer is given some times only and then
// found anew; one of an object holds until a dlclose. Shared by all threads; a lost count does no harm.
class Answers {
 public:
  enum class About : std::uint8_t { frame_pointer, return_address, call, call_or_jump };

  Answers(About about, std::uint64_t first, std::uint64_t second) {
    const std::uint64_t kind = static_cast<std::uint64_t>(about) | std::uint64_t{unloads()} << 32U;
    std::uint64_t mixed = (first * 0x9e3779b97f4a7c15ULL) ^ (second + kind * 0xc2b2ae3d27d4eb4fULL);
    mixed = (mixed ^ mixed >> 32U) * 0xd6e8feb86659fd93ULL;
    tag_ = (mixed ^ mixed >> 29U) & ~(yes | count_mask);
  }

  bool is_known() {
    std::atomic<std::uint64_t>& kept = entry();
    const std::uint64_t found = kept.load(std::memory_order_relaxed);
    if ((found & ~(yes | count_mask)) != tag_ || (found & count_mask) == 0) return false;
    if ((found & count_mask) != unlimited) kept.store(found - 1, std::memory_order_relaxed);
    is_yes_ = (found & yes) != 0;
    return true;
  }

  bool answer() const { return is_yes_; }

  // is_lasting: all the code that it is about is that of objects.
  bool keep(bool is_lasting, bool is_yes) {
    const std::uint64_t times = is_lasting ? unlimited : 63;
    entry().store(tag_ | (is_yes ? yes : 0) | times, std::memory_order_relaxed);
    return is_yes;
  }

 private:
  static constexpr std::uint64_t count_mask = 0xff;
  static constexpr std::uint64_t unlimited = 0xff;
  static constexpr std::uint64_t yes = 0x100;
  static constexpr unsigned slot_bits = 10;

  std::atomic<std::uint64_t>& entry() const { return kept_[tag_ >> (64 - slot_bits)]; }

  static std::atomic<std::uint64_t> kept_[1U << slot_bits];
  std::uint64_t tag_;
  bool is_yes_ = false;
};

constinit std::atomic<std::uint64_t> Answers::kept_[1U << Answers::slot_bits]{};

bool is_prologue(const std::uint8_t* code) {
  constexpr std::uint8_t store_form[] = {0x55, 0x48, 0x89, 0xe5};
  constexpr std::uint8_t load_form[] = {0x55, 0x48, 0x8b, 0xec};
  return std::memcmp(code, store_form, sizeof store_form) == 0 ||
         std::memcmp(code, load_form, sizeof load_form) == 0;
}

// A return or jump, and then what fills up to the next function or begins one.
bool is_boundary(const std::uint8_t* code) {
  constexpr std::uint8_t ret = 0xc3;
  if (code[0] != ret) return false;
  const bool is_nop =
      code[1] == 0x90 || code[1] == 0xcc || code[1] == 0xf4 || (code[1] == 0x0f && code[2] == 0x1f) ||
      (code[1] == 0x66 && (code[2] == 0x2e || code[2] == 0x66 || code[2] == 0x0f || code[2] == 0x90));
  const bool is_landing = code[1] == 0xf3 && code[2] == 0x0f && code[3] == 0x1e;
  return is_nop || is_landing;
}

constexpr std::uint64_t longest_call_bytes = 7;

// Bytes of an indirect `call` (ff /2) with this second byte; 0: it is none.
unsigned indirect_call_bytes(std::uint8_t mod_rm, std::uint8_t next) {
  if ((mod_rm & 0x38) != 0x10) return 0;
  const unsigned mode = mod_rm >> 6;
  const unsigned base = mod_rm & 7;
  const unsigned index_bytes = mode != 3 && base == 4 ? 1 : 0;
  if (mode == 0) {
    return base == 5 || (index_bytes != 0 && (next & 7) == 5) ? 6 + index_bytes : 2 + index_bytes;
  }
  if (mode == 1) return 3 + index_bytes;
  return mode == 2 ? 6 + index_bytes : 2;
}

// `end`: of a call instruction.
bool follows_indirect_call(const std::uint8_t* end) {
  for (unsigned bytes = 2; bytes <= longest_call_bytes; ++bytes) {
    const std::uint8_t* code = end - bytes;
    if (code[0] == 0xff && indirect_call_bytes(code[1], bytes > 2 ? code[2] : 0) == bytes) return true;
  }
  return false;
}

// Through a table of addresses: the function it leads to is not known.
bool is_jump_through_table(const std::uint8_t* code) {
  constexpr std::uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
  if (std::memcmp(code, landing, sizeof landing) == 0) code += sizeof landing;
  if (*code == 0xf2) ++code;  // bnd
  return code[0] == 0xff && code[1] == 0x25;
}

// Whether a call to `target` may have entered the function without tables in which `called` is. may_jump:
// other code without tables may have jumped on to it.
bool may_enter(std::uint64_t target, std::uint64_t called, const std::atomic<std::uint32_t>* is_confined,
               bool may_jump) {
  constexpr std::uint64_t jump_bytes = 12;
  Code code(target, called, is_confined);
  const std::uint8_t* const first = code.read(target, jump_bytes);
  if (first == nullptr) return false;
  if (is_jump_through_table(first)) return true;
  const bool is_other = code.is_in_object() && is_described(code.object().tables, target);
  return (may_jump || target < called) && !is_other;
}

// Go's until 1.20: mov %rbp, N(%rsp); lea N(%rsp), %rbp, with N in one byte or in four.
constexpr std::uint64_t longest_store_bytes = 16;
bool is_prologue_by_store(const std::uint8_t* code, std::uint64_t bytes) {
  constexpr std::uint8_t store[] = {0x48, 0x89, 0x6c, 0x24};
  constexpr std::uint8_t load[] = {0x48, 0x8d, 0x6c, 0x24};
  constexpr std::uint8_t wide_store[] = {0x48, 0x89, 0xac, 0x24};
  constexpr std::uint8_t wide_load[] = {0x48, 0x8d, 0xac, 0x24};
  const auto has = [&](const std::uint8_t(&first)[4], const std::uint8_t(&second)[4], std::uint64_t offset) {
    return bytes >= 2 * (4 + offset) && std::memcmp(code, first, 4) == 0 &&
           std::memcmp(code + 4 + offset, second, 4) == 0 &&
           std::memcmp(code + 4, code + 8 + offset, offset) == 0;
  };
  return has(store, load, 1) || has(wide_store, wide_load, 4);
}

constexpr std::uint64_t longest_restore_bytes = 14;

// mov G(%rsp), %rdi; mov 8(%rdi), %rsi; sub D(%rsp), %rsi. D is 0 since Go 1.21.
GoroutineSwitch restored_goroutine(const std::uint8_t* code) {
  constexpr std::uint8_t goroutine[] = {0x48, 0x8b, 0x7c, 0x24};
  constexpr std::uint8_t stack_end[] = {0x48, 0x8b, 0x77, 0x08};
  constexpr std::uint8_t depth[] = {0x48, 0x2b, 0x34, 0x24};
  constexpr std::uint8_t depth_at[] = {0x48, 0x2b, 0x74, 0x24};
  if (std::memcmp(code, goroutine, 4) != 0 || std::memcmp(code + 5, stack_end, 4) != 0) return {};
  if (std::memcmp(code + 9, depth, 4) == 0) return {.goroutine_offset = code[4], .restore_bytes = 13};
  if (std::memcmp(code + 9, depth_at, 4) != 0) return {};
  return {.goroutine_offset = code[4], .depth_offset = code[13], .restore_bytes = 14};
}

// V8's baseline code: mov $BYTES, %ebx; movabs $VECTOR, %r12; call PROLOGUE. Whether the function called
// takes its return address away and sets up its caller's frame pointer: pop REGISTER; push %rbp; mov %rsp,
// %rbp.
constexpr std::uint64_t called_prologue_bytes = 20;
bool calls_prologue(Code& code, std::uint64_t at) {
  constexpr std::uint64_t most_bytes = 64;
  constexpr std::uint64_t piece_bytes = 6;
  constexpr std::uint8_t pop_high = 0x41;
  const std::uint8_t* bytes = code.read(at, 16);
  if (bytes == nullptr || bytes[5] != 0x49 || bytes[6] != 0xbc || bytes[15] != 0xe8) return false;
  bytes = code.read(at + 16, sizeof(std::int32_t));
  if (bytes == nullptr) return false;
  std::int32_t distance;
  std::memcpy(&distance, bytes, sizeof distance);
  const std::uint64_t target =
      at + called_prologue_bytes + static_cast<std::uint64_t>(std::int64_t{distance});
  if (code.read(target + most_bytes, piece_bytes) == nullptr) return false;  // all of it in one copy
  for (std::uint64_t offset = 0; offset < most_bytes; ++offset) {
    bytes = code.read(target + offset, piece_bytes);
    if (bytes == nullptr) return false;
    if (bytes[0] == pop_high && (bytes[1] & 0xf8) == 0x58 && is_prologue(bytes + 2)) return true;
  }
  return false;
}

bool has_prologue(Code& code, std::uint64_t pc) {
  constexpr std::uint64_t most_bytes = 1 << 16;
  // Nothing is read at or beyond pc, whose page may be another one.
  constexpr std::uint64_t looked_at_bytes = 5;
  for (std::uint64_t at = pc - looked_at_bytes; at > pc - most_bytes; --at) {
    const std::uint8_t* const bytes = code.read(at, looked_at_bytes);
    if (bytes == nullptr || is_boundary(bytes)) return false;
    if (is_prologue(bytes)) return true;
    const bool may_call_it = bytes[0] == 0xbb && pc - at > called_prologue_bytes;
    if (may_call_it && calls_prologue(code, at)) return true;
    if (bytes[0] != 0x48 || bytes[1] != 0x89) continue;
    const std::uint64_t rest = std::min(pc - at, longest_store_bytes);
    const std::uint8_t* const store = code.read(at, rest);
    if (store != nullptr && is_prologue_by_store(store, rest)) return true;
  }
  return false;
}

bool follows_call_of(Code& code, std::uint64_t called, std::uint64_t pc,
                     const std::atomic<std::uint32_t>* is_confined, bool may_jump) {
  constexpr std::uint64_t direct_call_bytes = 5;
  const std::uint8_t* const before = code.read(pc - longest_call_bytes, longest_call_bytes);
  if (before == nullptr) return false;
  const std::uint8_t* const end = before + longest_call_bytes;
  if (*(end - direct_call_bytes) == 0xe8) {
    std::int32_t distance;
    std::memcpy(&distance, end - direct_call_bytes + 1, sizeof distance);
    if (may_enter(pc + static_cast<std::uint64_t>(std::int64_t{distance}), called, is_confined, may_jump)) {
      return true;
    }
  }
  return follows_indirect_call(end);
}

}  // namespace

void allow_copies_of_code(const session::ProcessBlock& block) noexcept {
  may_ask_for_copies.store(block.seccomp_at_start == 0, std::memory_order_relaxed);
}

bool has_frame_pointer(std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined) noexcept {
  Answers known(Answers::About::frame_pointer, pc, 0);
  if (known.is_known()) return known.answer();
  Code code(pc - 1, pc - 1, is_confined);
  return known.keep(code.is_in_object(), has_prologue(code, pc));
}

std::uint32_t bytes_to_return_address(std::uint64_t pc,
                                      const std::atomic<std::uint32_t>* is_confined) noexcept {
  constexpr std::uint64_t looked_at_bytes = 5;
  constexpr std::uint8_t add_to_rsp[] = {0x48, 0x83, 0xc4};
  constexpr std::uint8_t ret = 0xc3;
  Code code(pc, pc, is_confined);
  const std::uint8_t* const next = code.read(pc, looked_at_bytes);
  if (next == nullptr || std::memcmp(next, add_to_rsp, sizeof add_to_rsp) != 0 || next[4] != ret) return 0;
  const std::uint32_t bytes = next[3];
  constexpr std::uint32_t most_bytes = 0x78;  // above, it is negative
  return bytes <= most_bytes && bytes % 8 == 0 ? bytes : 0;
}

bool is_entry_code(std::uint64_t pc) noexcept {
  constexpr std::uint64_t most_bytes = 48;
  constexpr std::uint8_t halt = 0xf4;  // so that nothing may return to it
  if (pc - getauxval(AT_ENTRY) < most_bytes && *bytes_at(pc) == halt) return true;
  // The loader's calls the constructors of libraries, and then jumps to the executable's.
  constexpr std::uint64_t most_loader_bytes = 128;
  const std::uint64_t loader = getauxval(AT_BASE);
  if (loader == 0) return false;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes_at(loader), sizeof header);
  return pc - (loader + header.e_entry) < most_loader_bytes;
}

bool ends_with_result(std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined) noexcept {
  Code code(pc - 1, pc, is_confined);
  if (!code.is_in_object()) return false;
  // call *%reg, or call *(%reg)
  const std::uint8_t* const call = code.read(pc - 2, 2);
  if (call == nullptr || call[0] != 0xff) return false;
  const bool is_by_register = (call[1] & 0xf8) == 0xd0;
  const bool is_by_memory = (call[1] & 0xf8) == 0x10 && (call[1] & 7) != 4 && (call[1] & 7) != 5;
  if (!is_by_register && !is_by_memory) return false;
  // The result as the first argument, and a call.
  constexpr std::uint8_t moves[][4] = {
      {0x89, 0xc7, 0xe8, 0},     // mov %eax, %edi: exit(main())
      {0x48, 0x89, 0xc7, 0xe8},  // mov %rax, %rdi: pthread_exit(function())
      {0x48, 0x63, 0xf8, 0xe8},  // movslq %eax, %rdi: that of a C11 thread
  };
  const std::uint8_t* const next = code.read(pc, sizeof moves[0]);
  return next != nullptr && std::any_of(std::begin(moves), std::end(moves), [next](const auto& move) {
           return std::memcmp(next, move, move[3] == 0 ? 3 : 4) == 0;
         });
}

bool is_start_of_musl(std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined) noexcept {
  const std::uint64_t loader = getauxval(AT_BASE);
  std::uint64_t entry = getauxval(AT_ENTRY);
  if (loader != 0) {
    Elf64_Ehdr header;
    std::memcpy(&header, bytes_at(loader), sizeof header);
    entry = loader + header.e_entry;
  }
  LoadedObject object;
  return find_loaded_object(pc - 1, object) && is_code_of(object, entry) && ends_with_result(pc, is_confined);
}

GoroutineSwitch goroutine_switch(std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined) noexcept {
  // The load of the thread's own memory may stand before, the store of the current goroutine takes so many.
  constexpr std::uint64_t most_before = 9;
  constexpr std::uint64_t most_store = 9;
  // mov %rsi, %rsp; mov %eax, N(%rsp)
  constexpr std::uint8_t leave[] = {0x48, 0x89, 0xf4, 0x89, 0x44, 0x24};
  constexpr std::uint64_t leave_bytes = sizeof leave + 3;
  Code code(pc, pc, is_confined);
  GoroutineSwitch found;
  std::uint64_t at = pc;
  for (; at <= pc + most_before && found.restore_bytes == 0; ++at) {
    const std::uint8_t* const begin = code.is_in_object() ? code.read(at, longest_restore_bytes) : nullptr;
    if (begin == nullptr) return {};
    found = restored_goroutine(begin);
  }
  if (found.restore_bytes == 0) return {};
  const std::uint64_t store = at - 1 + found.restore_bytes;
  for (at = store; at <= store + most_store; ++at) {
    const std::uint8_t* const end = code.read(at, leave_bytes);
    if (end == nullptr) return {};
    if (std::memcmp(end, leave, sizeof leave) != 0) continue;
    const std::uint8_t* const last = end + sizeof leave + 1;
    const bool has_rbp = last[0] == 0x5d && last[1] == 0xc3;
    found.return_bytes = has_rbp ? 16 : 8;
    return has_rbp || last[0] == 0xc3 ? found : GoroutineSwitch{};
  }
  return {};
}

bool is_callback_from_c(std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined) noexcept {
  // The size of its frame, then the goroutine, whose load takes so many, and where its stack was before:
  // lea N(%rsp), %rax; sub %rsp, %rax; …; mov %rsp, %rdi; add %rax, %rdi; mov -8(%rdi), %rbx
  constexpr std::uint64_t most_load = 16;
  constexpr std::uint8_t above[] = {0x48, 0x8d, 0x44, 0x24};
  constexpr std::uint8_t size[] = {0x48, 0x29, 0xe0};
  constexpr std::uint8_t before[] = {0x48, 0x89, 0xe7, 0x48, 0x01, 0xc7, 0x48, 0x8b, 0x5f, 0xf8};
  constexpr std::uint64_t size_at = sizeof above + 1;
  constexpr std::uint64_t load_at = size_at + sizeof size;
  Code code(pc, pc, is_confined);
  const std::uint8_t* const begin = code.is_in_object() ? code.read(pc, load_at) : nullptr;
  if (begin == nullptr || std::memcmp(begin, above, sizeof above) != 0) return false;
  if (std::memcmp(begin + size_at, size, sizeof size) != 0) return false;
  for (std::uint64_t at = pc + load_at; at <= pc + load_at + most_load; ++at) {
    const std::uint8_t* const end = code.read(at, sizeof before);
    if (end == nullptr) return false;
    if (std::memcmp(end, before, sizeof before) == 0) return true;
  }
  return false;
}

RestoredRegisters restored_registers(std::uint64_t pc,
                                     const std::atomic<std::uint32_t>* is_confined) noexcept {
  constexpr int most_instructions = 16;
  constexpr std::uint64_t longest = 8;
  constexpr std::uint8_t ret = 0xc3;
  Code code(pc, pc, is_confined);
  if (!code.is_in_object()) return {};
  Restoring restoring;
  for (int i = 0; i < most_instructions; ++i) {
    const std::uint8_t* const next = code.read(pc, longest);
    if (next == nullptr) return {};
    if (*next == ret) return restoring.found();
    if (!restoring.pass(next)) return {};
    pc += restoring.bytes();
  }
  return {};
}

bool is_goroutine_end(std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined) noexcept {
  // nop; call runtime.goexit1; nop: the second instruction is "returned" to.
  constexpr std::uint64_t bytes = 7;
  Code code(pc, pc, is_confined);
  const std::uint8_t* const begin = code.is_in_object() ? code.read(pc - 1, bytes) : nullptr;
  return begin != nullptr && begin[0] == 0x90 && begin[1] == 0xe8 && begin[6] == 0x90;
}

bool may_be_return_address(std::uint64_t pc, std::uint64_t running,
                           const std::atomic<std::uint32_t>* is_confined) noexcept {
  // Runtimes keep the code that they make together, so that it can call other such code directly.
  constexpr std::uint64_t region_bytes = 1ULL << 29;
  Answers known(Answers::About::return_address, pc, running);
  if (known.is_known()) return known.answer();
  Code code(pc - 1, running, is_confined);
  if (!code.is_in_object() && pc - running + region_bytes >= 2 * region_bytes) return false;
  const std::uint8_t* const before = code.read(pc - longest_call_bytes, longest_call_bytes);
  constexpr std::uint8_t direct_call = 0xe8;
  const bool may_be = before != nullptr && (before[longest_call_bytes - 5] == direct_call ||
                                            follows_indirect_call(before + longest_call_bytes));
  return known.keep(code.is_in_object(), may_be);
}

bool may_return_from(std::uint64_t called, std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined,
                     bool may_jump) noexcept {
  Answers known(may_jump ? Answers::About::call_or_jump : Answers::About::call, called, pc);
  if (known.is_known()) return known.answer();
  Code code(pc - 1, pc - 1, is_confined);
  LoadedObject callee;
  const bool is_lasting = code.is_in_object() && find_loaded_object((called & session::pc_mask) - 1, callee);
  return known.keep(is_lasting, follows_call_of(code, called, pc, is_confined, may_jump));
}

}  // namespace heapwright::unwind
