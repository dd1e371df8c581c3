// SPDX-License-Identifier: MIT
#include "attach/attachment.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "attach/refusal.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::attach {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds patience{250};
constexpr int most_stops = 50;
constexpr int most_detaching_stops = 6;  // the last one 62 ms after the first
constexpr milliseconds between_stops{2};
constexpr int most_late_stops = 5;
constexpr milliseconds after_late_stop{100};
constexpr milliseconds between_detaches{200};
constexpr long wipe_on_fork = 18;  // MADV_WIPEONFORK
// How much of a thread's stack above its stack pointer is searched.
constexpr std::uint64_t most_stack_bytes = 1 << 20;
constexpr std::uint64_t unknown_stack_bytes = 1 << 14;

TargetMemory& opened(TargetMemory& memory, pid_t process) {
  if (!memory.is_open()) throw Refusal(tracee::why_not_traced(process));
  return memory;
}

}  // namespace

Attachment::Attachment(pid_t process, Observer& observer, const Wanted& wanted)
    : process_(process),
      memory_(process),
      stopped_(process),
      observer_(observer),
      plan_(make_plan(process, opened(memory_, process), observer.image(), wanted)),
      region_(plan_.region, observer.image()),
      is_region_mapped_(plan_.is_reused),
      is_annex_mapped_(plan_.annex.is_reused) {
  observer_.prepare(plan_);
}

void Attachment::attach() {
  int late_stops = 0;
  for (facts_.stops = 1; facts_.stops <= most_stops; ++facts_.stops) {
    try {
      if (try_to_attach()) return;
      std::this_thread::sleep_for(between_stops);
    } catch (const NotStopped&) {
      if (++late_stops == most_late_stops) {
        give_up();
        throw;
      }
      std::this_thread::sleep_for(after_late_stop);
    }
  }
  give_up();
  throw Refusal("its threads never reached code where they can be stopped; try again");
}

void Attachment::give_up() {
  if (has_begun_) detach();
  observer_.discard();
}

bool Attachment::try_to_attach() {
  if (!stopped_.stop(patience)) throw Refusal("it has ended");
  facts_.threads = stopped_.threads().size();
  bool is_done = false;
  try {
    is_done = change_process();
  } catch (...) {
    restore_own();
    stopped_.resume();
    throw;
  }
  stopped_.resume();
  facts_.stopped_ns = stopped_.stopped_ns();
  return is_done;
}

// False: some thread cannot be stopped where it is.
bool Attachment::change_process() {
  refuse_if_changed();
  StoppedThread* const caller = stopped_.caller();
  if (caller == nullptr) return false;
  RemoteCalls call(*caller, plan_.system_call);
  for (const FoundRegion& region : plan_.regions) {
    const bool is_patched = std::any_of(region.slots.begin(), region.slots.end(), [&](const Slot& slot) {
      return find_patch(memory_, region, slot.function) != nullptr;
    });
    has_healed_ = has_healed_ || is_patched;
    if (!restore(memory_, region)) throw Refusal("its code cannot be written to; the kernel forbids it");
  }
  if (!is_region_mapped_) map_region(call);
  is_region_mapped_ = true;
  if (plan_.annex.base != 0 && !is_annex_mapped_) map_annex(call);
  is_annex_mapped_ = plan_.annex.base != 0;
  refuse_without_clock(call);
  if (!has_begun_) {
    write_heads();
    observer_.begin(scene(call));
    set_active(true);
    has_begun_ = true;
  }
  if (has_thread_within()) return false;
  patch_all();
  return true;
}

// There may have been an exec or an unloaded library between the plan and the stop.
void Attachment::refuse_if_changed() const {
  for (const Patch& patch : plan_.patches) {
    std::array<std::uint8_t, jump_bytes> now{};
    memory_.read(patch.function, now.data(), now.size());
    const bool is_ours = std::any_of(plan_.regions.begin(), plan_.regions.end(), [&](const auto& region) {
      return find_patch(memory_, region, patch.function) != nullptr;
    });
    if (now != patch.original && !is_ours) throw Refusal("its code changed meanwhile; try again");
  }
}

// An agent reads the clock, for which the kernel kills a thread that has given up the time stamp counter.
// Asked of the thread that makes the calls; the answer is written where the agent's data is.
void Attachment::refuse_without_clock(RemoteCalls& call) const {
  const auto before = memory_.value_at<int>(region_.agent());
  const long result = call(SYS_prctl, PR_GET_TSC, region_.agent());
  const bool has_clock = result != 0 || memory_.value_at<int>(region_.agent()) != PR_TSC_SIGSEGV;
  memory_.must_put(region_.agent(), before);
  if (!has_clock) {
    throw Refusal("it has given up the clock (PR_SET_TSC), which would be read in its heap calls");
  }
}

void Attachment::map_region(RemoteCalls& call) const {
  const AgentImage& image = observer_.image();
  const std::uint64_t bytes = Region::bytes(image);
  const long mapped = call(SYS_mmap, region_.base(), bytes, PROT_READ | PROT_EXEC,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
  check_call(mapped, "map executable memory");
  if (static_cast<std::uint64_t>(mapped) != region_.base()) throw Refusal("its memory changed; try again");
  check_call(call(SYS_mprotect, region_.data(), region_.tail() - region_.data(), PROT_READ | PROT_WRITE),
             "protect memory");
  check_call(call(SYS_madvise, region_.threads(), image.threads_bytes(), wipe_on_fork),
             "have memory wiped on fork, which needs Linux 4.14");
  const auto placed = image.placed_at(region_.image());
  memory_.must_write(region_.image(), placed.data(), placed.size());
}

void Attachment::map_annex(RemoteCalls& call) const {
  const std::uint64_t base = plan_.annex.base;
  const long mapped = call(SYS_mmap, base, annex_bytes, PROT_READ | PROT_EXEC,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
  check_call(mapped, "map executable memory");
  if (static_cast<std::uint64_t>(mapped) != base) throw Refusal("its memory changed; try again");
}

void Attachment::write_heads() const {
  const auto write = [this](std::uint64_t base, RegionHead head, const std::vector<Slot>& slots) {
    std::vector<std::uint8_t> page(slots_bytes);
    head.slots = slots.size();
    std::memcpy(page.data(), &head, sizeof head);
    std::memcpy(page.data() + sizeof head, slots.data(), slots.size() * sizeof(Slot));
    memory_.must_write(base, page.data(), page.size());
  };
  write(region_.base(), make_head(observer_.image()), plan_.slots);
  const Annex& annex = plan_.annex;
  if (annex.base == 0) return;
  memory_.must_write(far_jump_of_slot(annex.base, 0), annex.jumps.data(),
                     annex.jumps.size() * sizeof(FarJump));
  write(annex.base, make_annex_head(observer_.image()), annex.slots);
}

// Sets the first word of the table of threads, which is the same in both agents.
void Attachment::set_active(bool is_active) const {
  memory_.must_put(region_.threads(), std::uint64_t{is_active ? 1U : 0U});
}

// A signal handler may return to an instruction that is about to be overwritten: its address is then on the
// stack. A number that only looks like it costs another stop.
bool Attachment::has_thread_within() const {
  std::vector<std::uint64_t> words;
  for (const auto& [id, thread] : stopped_.threads()) {
    const std::uint64_t begin = thread.registers.rsp & ~std::uint64_t{7};
    const Mapping* const mapping = find_mapping(plan_.maps, begin);
    const std::uint64_t bytes =
        mapping == nullptr ? unknown_stack_bytes : std::min(mapping->end - begin, most_stack_bytes);
    words.resize(bytes / sizeof words[0]);
    words.resize(memory_.read_some(begin, words.data(), bytes) / sizeof words[0]);
    for (const Patch& patch : plan_.patches) {
      const auto is_within = [&](std::uint64_t word) { return word - patch.function - 1 < jump_bytes - 1; };
      if (std::any_of(words.begin(), words.end(), is_within)) return true;
    }
  }
  return false;
}

void Attachment::patch_all() {
  for (const Patch& patch : plan_.patches) {
    move_threads_out(patch);
    const auto jump = make_jump(patch.function, patch.target);
    memory_.must_write(patch.function, jump.data(), jump.size());
  }
}

void Attachment::move_threads_out(const Patch& patch) {
  for (auto& [id, thread] : stopped_.threads()) {
    if (thread.registers.rip - patch.function - 1 >= jump_bytes - 1) continue;
    for (const MovedInstruction& instruction : patch.instructions) {
      if (patch.function + instruction.from == thread.registers.rip) {
        thread.registers.rip = patch.code + instruction.to;
        break;
      }
    }
    if (ptrace(PTRACE_SETREGS, id, nullptr, &thread.registers) != 0) {
      throw Refusal("one of its threads ended while it was stopped; try again");
    }
  }
}

bool Attachment::is_there() const {
  return memory_.value_at<RegionHead>(region_.base()).magic == make_head(observer_.image()).magic;
}

// False: a write failed.
bool Attachment::restore_own() const {
  const AgentImage& image = observer_.image();
  const std::uint64_t code_bytes = region_.data() - region_.base();
  const bool is_whole =
      !is_region_mapped_ || restore(memory_, {region_.base(), make_head(image), plan_.slots, code_bytes});
  if (!is_annex_mapped_) return is_whole;
  const FoundRegion annex{plan_.annex.base, make_annex_head(image), plan_.annex.slots, annex_bytes};
  return restore(memory_, annex) && is_whole;
}

bool Attachment::detach() {
  std::string last;
  for (int tries = 0;; ++tries) {
    if (!is_there()) break;
    try {
      if (!stopped_.stop(patience)) break;
      const bool is_done = try_to_detach();
      stopped_.resume();
      facts_.stopped_ns = std::max(tries == 0 ? 0 : facts_.stopped_ns, stopped_.stopped_ns());
      facts_.stops = tries + 1;
      if (is_done || tries >= most_detaching_stops) return true;
      std::this_thread::sleep_for(between_stops * (1 << tries));
    } catch (const Refusal& refusal) {
      stopped_.resume();
      if (last != refusal.what()) std::fprintf(stderr, "heapwright: not detached yet: %s\n", refusal.what());
      last = refusal.what();
      std::this_thread::sleep_for(between_detaches);
    }
  }
  observer_.end();
  return false;
}

// False: the process is restored, but memory of ours is still mapped.
bool Attachment::try_to_detach() {
  facts_.threads = stopped_.threads().size();
  if (!restore_own()) throw Refusal("its code cannot be written to");
  set_active(false);
  observer_.end();
  StoppedThread* const caller = stopped_.caller();
  if (caller == nullptr) return false;
  RemoteCalls call(*caller, plan_.system_call);
  return observer_.unmap(scene(call));
}

}  // namespace heapwright::attach
