// SPDX-License-Identifier: MIT
#include "collect/stack_frames.hpp"

#include <sys/user.h>

#include <array>
#include <cstddef>
#include <utility>

#include "collect/demangled.hpp"

namespace heapwright::collect {
namespace {

// Deeper ones are taken together.
constexpr std::size_t most_frames = 512;

int no_debug_info(Dwfl_Module* /*module*/, void** /*data*/, const char* /*name*/, Dwarf_Addr /*base*/,
                  const char* /*file*/, const char* /*link*/, GElf_Word /*crc*/, char** /*found*/) {
  return -1;
}

int no_file(Dwfl_Module* /*module*/, void** /*data*/, const char* /*name*/, Dwarf_Addr /*base*/,
            char** /*found*/, Elf** /*elf*/) {
  return -1;
}

// Only what is reported is looked at: nothing is searched for, on disk or elsewhere.
constexpr Dwfl_Callbacks callbacks{no_file, no_debug_info, nullptr, nullptr};

#if defined(__x86_64__)
constexpr unsigned stack_pointer_number = 7;
constexpr std::size_t pc_place = offsetof(user_regs_struct, rip) / sizeof(std::uint64_t);

// By DWARF's number: the places in user_regs_struct.
constexpr std::array<std::size_t, 17> places{
    offsetof(user_regs_struct, rax), offsetof(user_regs_struct, rdx), offsetof(user_regs_struct, rcx),
    offsetof(user_regs_struct, rbx), offsetof(user_regs_struct, rsi), offsetof(user_regs_struct, rdi),
    offsetof(user_regs_struct, rbp), offsetof(user_regs_struct, rsp), offsetof(user_regs_struct, r8),
    offsetof(user_regs_struct, r9),  offsetof(user_regs_struct, r10), offsetof(user_regs_struct, r11),
    offsetof(user_regs_struct, r12), offsetof(user_regs_struct, r13), offsetof(user_regs_struct, r14),
    offsetof(user_regs_struct, r15), offsetof(user_regs_struct, rip)};

std::array<Dwarf_Word, places.size()> in_order(const std::vector<std::uint64_t>& registers) {
  std::array<Dwarf_Word, places.size()> found{};
  for (std::size_t number = 0; number < places.size(); ++number) {
    const std::size_t place = places[number] / sizeof(std::uint64_t);
    if (place < registers.size()) found[number] = registers[place];
  }
  return found;
}
#else
constexpr unsigned stack_pointer_number = 31;
constexpr std::size_t pc_place = 32;

std::array<Dwarf_Word, 32> in_order(const std::vector<std::uint64_t>& registers) {
  std::array<Dwarf_Word, 32> found{};  // x0 to x30, the stack pointer
  for (std::size_t number = 0; number < found.size() && number < registers.size(); ++number) {
    found[number] = registers[number];
  }
  return found;
}
#endif

}  // namespace

StackFrames::StackFrames(const ProcessImage& image) : image_(image), dwfl_(dwfl_begin(&callbacks)) {
  if (dwfl_ == nullptr) return;
  add_modules();
  static constexpr Dwfl_Thread_Callbacks threads{
      [](Dwfl* /*dwfl*/, void* /*self*/, void** /*thread*/) -> pid_t { return 0; },
      [](Dwfl* /*dwfl*/, pid_t /*id*/, void* self, void** thread) {
        *thread = self;
        return true;
      },
      read_word,
      set_registers,
      nullptr,
      nullptr};
  // The number is not used by what is called here.
  if (!dwfl_attach_state(dwfl_.get(), nullptr, 1, &threads, this)) dwfl_.reset();
}

void StackFrames::add_modules() {
  dwfl_report_begin(dwfl_.get());
  for (const trace::Mapping& mapping : image_.mappings) {
    if (mapping.file_offset != 0 || !image_.modules.contains(mapping.name)) continue;
    const std::string path = image_.root->path() + mapping.name;
    dwfl_report_elf(dwfl_.get(), mapping.name.c_str(), path.c_str(), -1, mapping.begin, false);
  }
  dwfl_report_end(dwfl_.get(), nullptr, nullptr);
}

std::vector<StackFrame> StackFrames::of(const tracee::StoppedThread& thread) {
  frames_.clear();
  if (dwfl_ == nullptr) return {};
  thread_ = &thread;
  // It fails where the stack cannot be followed further.
  dwfl_getthread_frames(dwfl_.get(), thread.id, add_frame, this);
  return std::move(frames_);
}

// Only words that can be addresses were copied: another is 0 here, which ends a stack as well.
bool StackFrames::read_word(Dwfl* /*dwfl*/, Dwarf_Addr address, Dwarf_Word* word, void* self) {
  *word = 0;
  static_cast<const StackFrames*>(self)->image_.words->visit(
      address, address + sizeof *word, [word](std::uint64_t /*at*/, std::uint64_t value) { *word = value; });
  return true;
}

bool StackFrames::set_registers(Dwfl_Thread* thread, void* self) {
  const auto& read = static_cast<const StackFrames*>(self)->thread_->registers;
  if (pc_place >= read.size()) return false;
  const auto registers = in_order(read);
  dwfl_thread_state_register_pc(thread, read[pc_place]);
  return dwfl_thread_state_registers(thread, 0, static_cast<unsigned>(registers.size()), registers.data());
}

int StackFrames::add_frame(Dwfl_Frame* frame, void* self) {
  auto& frames = static_cast<StackFrames*>(self)->frames_;
  Dwarf_Addr pc = 0;
  Dwarf_Word stack_pointer = 0;
  bool is_interrupted = false;  // not by a call
  const bool is_known = dwfl_frame_pc(frame, &pc, &is_interrupted) &&
                        dwfl_frame_reg(frame, stack_pointer_number, &stack_pointer) == 0;
  const bool is_above = frames.empty() || stack_pointer > frames.back().begin;
  if (!is_known || !is_above || frames.size() == most_frames) return DWARF_CB_ABORT;
  frames.push_back(
      static_cast<const StackFrames*>(self)->frame_at(stack_pointer, is_interrupted ? pc : pc - 1));
  return DWARF_CB_OK;
}

StackFrame StackFrames::frame_at(std::uint64_t stack_pointer, std::uint64_t pc) const {
  StackFrame frame;
  frame.begin = stack_pointer;
  Dwfl_Module* const module = dwfl_addrmodule(dwfl_.get(), pc);
  if (module == nullptr) return frame;
  frame.module = dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  const char* const symbol = dwfl_module_addrname(module, pc);
  if (symbol != nullptr) frame.function = demangled(symbol);
  return frame;
}

}  // namespace heapwright::collect
