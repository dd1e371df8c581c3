// SPDX-License-Identifier: MIT
// The changes to make to a process, worked out from its memory while it runs.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/agent_image.hpp"
#include "attach/entry_points.hpp"
#include "attach/region.hpp"
#include "attach/symbol_table.hpp"
#include "attach/target_maps.hpp"
#include "attach/target_memory.hpp"
#include "unwind/interpreter.hpp"

namespace heapwright::attach {

// A function that will jump to its hook.
struct Patch {
  agent::Entry entry;
  bool is_second;  // of the second allocator
  std::uint64_t function;
  std::uint64_t target;  // its hook, or the jump there
  std::uint64_t code;    // new address of its first instructions
  std::array<std::uint8_t, jump_bytes> original;
  std::vector<MovedInstruction> instructions;
};

// For functions that are too far from the region.
struct Annex {
  std::uint64_t base = 0;  // 0: not needed
  bool is_reused = false;  // it is one of an earlier attachment
  std::vector<Slot> slots;
  std::vector<FarJump> jumps;  // by slot
};

// Whose allocator is observed. A recording has both, if there are two.
enum class Whose : std::uint8_t {
  of_process,     // the one whose malloc all modules call
  of_executable,  // the one in the executable, by its symbol table; without it nothing is
};

struct Wanted {
  Whose whose = Whose::of_process;
  bool children = false;  // are recorded as well
};

struct Plan {
  std::string started_as;  // the path that was executed
  std::string program;     // the same without the folder
  Allocator allocator;
  std::optional<Allocator> second;  // the one in the executable, if libraries call another, or in a library
  bool is_second_in_library = false;
  std::uint64_t clock_gettime = 0;  // 0: the process has no vDSO version
  std::uint64_t find_object = 0;    // _dl_find_object; 0: it has none
  std::uint64_t libc_code = 0;      // the mapping with its mmap; 0: unknown, or linked statically
  std::uint64_t libc_code_bytes = 0;
  std::uint64_t headers = 0;  // the executable's program headers
  std::uint64_t header_count = 0;
  std::uint64_t entry = 0;
  std::uint64_t loader = 0;         // where it begins; 0: there is none
  SectionPlace frames;              // of a static program: its .eh_frame
  std::uint64_t stack_end = 0;      // where the loader stores the end of the first thread's stack
  unwind::Interpreter interpreter;  // a CPython of a known layout; its tables are not set
  std::uint64_t system_call = 0;    // address of a `syscall` instruction
  std::vector<Mapping> maps;
  std::vector<FoundRegion> regions;  // of earlier attachments
  bool is_reused = false;            // the region is one of them
  std::uint64_t region = 0;
  std::vector<Slot> slots;  // all slots of the region
  Annex annex;
  std::vector<Patch> patches;
  std::vector<std::string> notes;  // what will not be counted
  Whose whose = Whose::of_process;

  // A program has an allocator of its own to live on it. CPython has a mimalloc that it does not use.
  bool is_second_first() const noexcept {
    return second && !is_second_in_library && (whose == Whose::of_executable || interpreter.runtime == 0);
  }
  // The allocator that reports name first, and the other one; nullptr: there is none.
  const Allocator& main() const noexcept { return is_second_first() ? *second : allocator; }
  const Allocator* beside() const noexcept {
    if (!second) return nullptr;
    return is_second_first() ? &allocator : &*second;
  }
};

// Refusal: it cannot be counted, or another process already counts it.
Plan make_plan(pid_t process, const TargetMemory& memory, const AgentImage& image, const Wanted& wanted);

}  // namespace heapwright::attach
