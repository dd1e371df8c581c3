// SPDX-License-Identifier: MIT
// Which function each part of a stopped thread's stack belongs to, by the modules' unwind tables.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collect/process_image.hpp"

namespace heapwright::collect {

struct StackFrame {
  std::uint64_t begin = 0;  // the stack pointer in it; it ends where the next one begins
  std::string module;       // path within the process
  std::string function;     // demangled; empty: not known
};

class StackFrames {
 public:
  // The image outlives this.
  explicit StackFrames(const ProcessImage& image);

  // Innermost first; those up to which the stack could be followed. Not thread-safe.
  std::vector<StackFrame> of(const tracee::StoppedThread& thread);

 private:
  struct Close {
    void operator()(Dwfl* dwfl) const noexcept { dwfl_end(dwfl); }
  };

  void add_modules();
  StackFrame frame_at(std::uint64_t stack_pointer, std::uint64_t pc) const;
  // For libdwfl, whose argument is this object.
  static bool read_word(Dwfl* dwfl, Dwarf_Addr address, Dwarf_Word* word, void* self);
  static bool set_registers(Dwfl_Thread* thread, void* self);
  static int add_frame(Dwfl_Frame* frame, void* self);

  const ProcessImage& image_;
  std::unique_ptr<Dwfl, Close> dwfl_;
  const tracee::StoppedThread* thread_ = nullptr;  // that is being followed
  std::vector<StackFrame> frames_;
};

}  // namespace heapwright::collect
