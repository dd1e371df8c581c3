// SPDX-License-Identifier: MIT
#include "python_imitation.hpp"

namespace heapwright::unwind::test {

// As _PyEval_EvalFrameDefault until 3.10.
[[gnu::noinline, gnu::section("loop_code")]] std::uint32_t run_own_loop(PythonFrames& all,
                                                                        std::size_t index) {
  const Layout& layout = all.layout;
  const bool has_cframe = layout.loops == Loops::cframe_each;
  const std::uint64_t outer = has_cframe ? load_word(all.state.address() + layout.thread_cframe) : 0;
  std::uint64_t cframe[2] = {0, 0};
  cframe[layout.cframe_previous / 8] = outer;
  if (has_cframe) all.state.put(layout.thread_cframe, address_of(cframe));
  all.state.put(layout.thread_frames, all.frames[index].address());
  all.own_cframe = cframe;
  const bool is_innermost = index + 1 == all.frames.size();
  if (is_innermost && all.meddle) all.meddle();
  const std::uint32_t node = is_innermost ? all.allocate() : run_own_loop(all, index + 1);
  if (has_cframe) all.state.put(layout.thread_cframe, outer);
  all.state.put(layout.thread_frames, index == 0 ? 0 : all.frames[index - 1].address());
  asm volatile("" ::"r"(cframe) : "memory");
  return node;
}

}  // namespace heapwright::unwind::test
