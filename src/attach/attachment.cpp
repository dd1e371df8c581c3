// SPDX-License-Identifier: MIT
#include "attach/attachment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <set>
#include <thread>

#include "attach/agent_values.hpp"
#include "attach/process_status.hpp"
#include "attach/refusal.hpp"

namespace heapwright::attach {
namespace {

using agent::Agent;
using std::chrono::milliseconds;

constexpr milliseconds patience{250};
constexpr int most_stops = 50;
constexpr milliseconds between_stops{2};
constexpr int most_late_stops = 5;
constexpr milliseconds after_late_stop{100};
constexpr milliseconds between_detaches{200};
constexpr long wipe_on_fork = 18;  // MADV_WIPEONFORK
// A thread's stack above its stack pointer, as far as it is looked through.
constexpr std::uint64_t most_stack_bytes = 1 << 20;
constexpr std::uint64_t unknown_stack_bytes = 1 << 14;

TargetMemory& opened(TargetMemory& memory, pid_t process) {
  if (!memory.is_open()) throw Refusal(why_not_traced(process));
  return memory;
}

void check_call(long result, const char* what) {
  if (result >= 0 || result < -4095) return;
  throw Refusal(std::string("it may not ") + what + ": " + std::strerror(static_cast<int>(-result)));
}

}  // namespace

Attachment::Attachment(pid_t process, pid_t keeper)
    : process_(process),
      memory_(process),
      stopped_(process),
      plan_(make_plan(process, opened(memory_, process), image_)),
      region_(plan_.region, image_),
      is_region_mapped_(plan_.is_reused) {
  const PageFacts facts{.program = plan_.program,
                        .allocator = plan_.allocator.path.empty() ? plan_.program : plan_.allocator.path,
                        .knows_usable = plan_.allocator.usable_size != 0,
                        .clock_ns = clock_cost_ns(),
                        .keeper = keeper};
  page_ = std::make_unique<CounterPage>(process, facts);
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
  throw Refusal("its threads never stood where they can be stopped; try again");
}

void Attachment::give_up() {
  if (is_page_mapped_) detach();
  page_->discard();
}

bool Attachment::try_to_attach() {
  if (!stopped_.stop(patience)) throw Refusal("it has ended");
  facts_.threads = stopped_.threads().size();
  bool is_done = false;
  try {
    is_done = change_process();
  } catch (...) {
    if (is_region_mapped_) restore(memory_, own_region());
    stopped_.resume();
    throw;
  }
  stopped_.resume();
  facts_.stopped_ns = stopped_.stopped_ns();
  return is_done;
}

// False: some thread does not stand well.
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
  if (!is_page_mapped_) {
    write_region();
    map_page(call);
    is_page_mapped_ = true;
  }
  if (has_thread_within()) return false;
  patch_all();
  return true;
}

// An exec or an unloaded library, between the plan and the stop.
void Attachment::refuse_if_changed() const {
  for (const Patch& patch : plan_.patches) {
    std::array<std::uint8_t, jump_bytes> now{};
    memory_.read(patch.function, now.data(), now.size());
    const bool is_ours = std::any_of(plan_.regions.begin(), plan_.regions.end(), [&](const auto& region) {
      return find_patch(memory_, region, patch.function) != nullptr;
    });
    if (now != patch.original && !is_ours) throw Refusal("it changed while it was looked at; try again");
  }
}

void Attachment::map_region(RemoteCalls& call) const {
  const std::uint64_t bytes = Region::bytes(image_);
  const long mapped = call(SYS_mmap, region_.base(), bytes, PROT_READ | PROT_EXEC,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
  check_call(mapped, "map executable memory");
  if (static_cast<std::uint64_t>(mapped) != region_.base()) throw Refusal("its memory changed; try again");
  check_call(call(SYS_mprotect, region_.data(), region_.page() - region_.data(), PROT_READ | PROT_WRITE),
             "protect memory");
  check_call(call(SYS_madvise, region_.threads(), sizeof(agent::WipedOnFork), wipe_on_fork),
             "have memory wiped at a fork, which needs Linux 4.14");
  const auto image = image_.placed_at(region_.image());
  put(region_.image(), image.data(), image.size());
}

void Attachment::map_page(RemoteCalls& call) const {
  const std::uint64_t path = region_.agent() + offsetof(Agent, page_path);
  const long file = call(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
  check_call(file, "open its page in /dev/shm");
  const long mapped = call(SYS_mmap, region_.page(), sizeof(counters::CallsPage), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_FIXED, file, 0);
  call(SYS_close, file);
  check_call(mapped, "map its page");
}

// Of earlier attachments: those that have ended free their entries, the others are looked at anew. How many
// tables they have.
std::uint64_t Attachment::forget_threads() {
  std::set<std::uint64_t> living;
  for (const auto& [id, thread] : stopped_.threads()) living.insert(thread.registers.fs_base);
  const auto before = std::make_unique<agent::WipedOnFork>();
  memory_.read(region_.threads(), before.get(), sizeof *before);
  for (std::size_t index = 0; index < agent::max_threads; ++index) {
    agent::Thread thread = before->threads[index];
    if (thread.key == agent::Thread::free_key) continue;
    thread.calls_until_timed = 0;
    if (!living.contains(thread.key)) {
      thread.key = agent::Thread::ended_key;
      thread.guard_stack = 0;
    }
    put(region_.threads() + offsetof(agent::WipedOnFork, threads) + index * sizeof thread, &thread,
        sizeof thread);
  }
  return memory_.value_at<std::uint64_t>(region_.agent() + offsetof(Agent, tables_used));
}

void Attachment::write_region() {
  std::vector<std::uint8_t> page(slots_bytes);
  RegionHead head = make_head(image_);
  head.slots = plan_.slots.size();
  std::memcpy(page.data(), &head, sizeof head);
  std::memcpy(page.data() + sizeof head, plan_.slots.data(), plan_.slots.size() * sizeof(Slot));
  put(region_.base(), page.data(), page.size());
  Agent made = make_agent(plan_, region_, page_->path());
  made.attachment = memory_.value_at<Agent>(region_.agent()).attachment + 1;
  made.tables_used = plan_.is_reused ? std::max<std::uint64_t>(1, forget_threads()) : 1;
  put(region_.agent(), &made, sizeof made);
  page_->begin(made.tables_used);
  const std::uint64_t is_counting = 1;
  put(region_.threads() + offsetof(agent::WipedOnFork, is_counting), &is_counting, sizeof is_counting);
}

// A signal handler may return to an instruction that is about to be overwritten: its address is on the
// stack. A number that looks like it costs another stop.
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
    const auto jump = make_jump(patch.function, patch.hook);
    put(patch.function, jump.data(), jump.size());
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
  return memory_.value_at<RegionHead>(region_.base()).magic == make_head(image_).magic;
}

FoundRegion Attachment::own_region() const {
  return {.base = region_.base(), .head = make_head(image_), .slots = plan_.slots};
}

bool Attachment::detach() {
  std::string said;
  for (int tries = 0;; ++tries) {
    if (!is_there()) break;
    try {
      if (!stopped_.stop(patience)) break;
      const bool is_done = try_to_detach();
      stopped_.resume();
      facts_.stopped_ns = stopped_.stopped_ns();
      facts_.stops = tries + 1;
      if (is_done || tries >= most_stops) return true;
      std::this_thread::sleep_for(between_stops);
    } catch (const Refusal& refusal) {
      stopped_.resume();
      if (said != refusal.what()) std::fprintf(stderr, "heapwright: not detached yet: %s\n", refusal.what());
      said = refusal.what();
      std::this_thread::sleep_for(between_detaches);
    }
  }
  page_->end();
  return false;
}

// False: everything is as it was, but the page is still mapped.
bool Attachment::try_to_detach() {
  facts_.threads = stopped_.threads().size();
  if (!restore(memory_, own_region())) throw Refusal("its code cannot be written to");
  const std::uint64_t is_counting = 0;
  put(region_.threads() + offsetof(agent::WipedOnFork, is_counting), &is_counting, sizeof is_counting);
  page_->end();
  StoppedThread* const caller = stopped_.caller();
  if (caller == nullptr) return false;
  RemoteCalls call(*caller, plan_.system_call);
  // Threads may stand within a hook and add to the page yet: plain memory takes its place.
  call(SYS_mmap, region_.page(), sizeof(counters::CallsPage), PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  return true;
}

void Attachment::put(std::uint64_t address, const void* from, std::size_t bytes) const {
  if (!memory_.write(address, from, bytes)) {
    throw Refusal(
        "its memory cannot be written to; the kernel forbids it (proc_mem.force_override?), or it ended");
  }
}

}  // namespace heapwright::attach
