// SPDX-License-Identifier: MIT
#include "attach/recording_observer.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "attach/agent_values.hpp"
#include "attach/frame_table.hpp"
#include "attach/process_links.hpp"
#include "attach/recorder/layout.hpp"
#include "attach/refusal.hpp"
#include "attach/threads_within.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::attach {

using recorder::RecordingAgent;
using recorder::Thread;
using recorder::WipedOnFork;
using session::ProcessBlock;

namespace {

constexpr char session_name[] = "heapwright";
static_assert(sizeof session_name <= sizeof RecordingAgent::session_name);

template <std::size_t capacity>
void copy_text(char (&to)[capacity], const std::string& from) {
  std::memcpy(to, from.data(), std::min(from.size(), capacity - 1));
}

// In another PID namespace: the threads' ids there, by those here. Otherwise empty.
std::map<pid_t, pid_t> ids_elsewhere(const Scene& scene) {
  std::map<pid_t, pid_t> ids;
  const pid_t process = scene.stopped.process();
  if (link_of(process, "ns/pid") == link_of(getpid(), "ns/pid")) return ids;
  for (const auto& [id, thread] : scene.stopped.threads()) {
    ids[id] = static_cast<pid_t>(tracee::number_within(process, id));
  }
  return ids;
}

// Finds where glibc stores a thread's id, relative to the thread pointer: a place that holds the right id for
// all present threads. If there is none, a place that never changes: threads with the same thread pointer
// then count as one.
std::uint64_t find_identity(const Scene& scene) {
  constexpr std::uint64_t usual = 0x2d0;
  constexpr std::uint64_t in_musl = 0x30;
  constexpr std::uint64_t begin = 0x40;
  constexpr std::uint64_t end = 0x800;
  const std::map<pid_t, pid_t> elsewhere = ids_elsewhere(scene);
  const auto own_id = [&](pid_t id) { return elsewhere.empty() ? id : elsewhere.at(id); };
  const auto holds_ids = [&](std::uint64_t offset) {
    return std::all_of(scene.stopped.threads().begin(), scene.stopped.threads().end(), [&](const auto& one) {
      const auto& [id, thread] = one;
      const std::uint64_t pointer = thread.registers.fs_base;
      return pointer == 0 || scene.memory.value_at<pid_t>(pointer + offset) == own_id(id);
    });
  };
  if (scene.plan.allocator.is_musl) return in_musl;
  if (holds_ids(usual)) return usual;
  for (std::uint64_t offset = begin; offset < end; offset += sizeof(pid_t)) {
    if (holds_ids(offset)) return offset;
  }
  return recorder::own_address_offset;
}

// What libc keeps in __libc_stack_end, before it does: a program may stand at its first instruction.
void* find_stack_end(const Scene& scene) {
  auto* const kept = scene.memory.value_at<void*>(scene.plan.stack_end);
  if (kept != nullptr) return kept;
  for (const Mapping& mapping : scene.plan.maps) {
    if (mapping.name == "[stack]") return reinterpret_cast<void*>(mapping.end);
  }
  return nullptr;
}

std::string file_name(pid_t process, long file) {
  return tracee::memory_folder(process) + "/fd/" + std::to_string(file);
}

// The file size limit is not meant for a sparse file like this one. Returns an errno; 0: success.
int give_size(int file) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit raised{before.rlim_max, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &raised);
  const int result = ftruncate(file, static_cast<off_t>(session::session_bytes));
  const int error_number = result == 0 ? 0 : errno;
  setrlimit(RLIMIT_FSIZE, &before);
  return error_number;
}

// The function whose name tells the allocator: an operator's would not.
std::uint64_t name_giver(const Plan& plan, const Patch& patch) {
  const bool is_operator = patch.entry >= agent::Entry::new_ && patch.entry < agent::Entry::dlclose_;
  return is_operator ? plan.second->points[0].symbol.address : patch.function;
}

// Or get a filter that no hook of ours sees: a function that installs one could not be patched.
bool may_be_filtered(const Scene& scene) {
  auto status = tracee::read_status(tracee::with_memory(scene.stopped.process()));
  if (tracee::number_in(status["Seccomp"]) != 0) return true;
  const auto is_patched = [&](agent::Entry entry) {
    return std::any_of(scene.plan.patches.begin(), scene.plan.patches.end(),
                       [entry](const Patch& patch) { return patch.entry == entry; });
  };
  const bool is_static = scene.plan.allocator.is_inner && !scene.plan.second;
  return !is_static && !(is_patched(agent::Entry::prctl_) && is_patched(agent::Entry::syscall_));
}

void put_plain_memory(const Scene& scene, std::uint64_t area) {
  scene.call(SYS_mmap, area, recorder::replaced_bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

}  // namespace

RecordingObserver::~RecordingObserver() {
  if (file_ >= 0) close(file_);
}

// Entries of earlier attachments: those of ended threads are freed. The others reset themselves.
void RecordingObserver::forget_threads(const Scene& scene) const {
  std::set<std::uint64_t> living;
  for (const auto& [id, thread] : scene.stopped.threads()) living.insert(thread.registers.fs_base);
  const auto before = std::make_unique<WipedOnFork>();
  scene.memory.read(scene.region.threads(), before.get(), sizeof *before);
  Thread ended{};
  ended.key = agent::ended_key;
  for (std::size_t index = 0; index < agent::max_threads; ++index) {
    const std::uint64_t key = before->threads[index].key;
    if (key == agent::free_key || living.contains(key)) continue;
    scene.memory.must_put(scene.region.threads() + offsetof(WipedOnFork, threads) + index * sizeof ended,
                          ended);
  }
}

// Where a program has none of its own, as its headers say. Left out if it is too large.
void RecordingObserver::add_frame_table(const Scene& scene, RecordingAgent& made) {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 28;
  const SectionPlace& frames = scene.plan.frames;
  if (frames.bytes > most_bytes) return;
  for (std::uint64_t index = 0; index < scene.plan.header_count; ++index) {
    const auto header = scene.memory.value_at<Elf64_Phdr>(scene.plan.headers + index * sizeof(Elf64_Phdr));
    if (header.p_type == PT_GNU_EH_FRAME) return;
  }
  const std::uint64_t at = scene.region.frames();
  const auto table = make_frame_table(scene.memory.bytes_at(frames.begin, frames.bytes), frames.begin, at);
  if (table.empty() || table.size() > sizeof(recorder::FrameTable)) return;
  scene.memory.must_write(at, table.data(), table.size());
  made.frame_table = at;
  made.frame_table_bytes = table.size();
}

// The process creates the file, so it needs no permission for anything of ours; we set the size.
void RecordingObserver::make_session(const Scene& scene, std::uint64_t area) {
  const std::uint64_t name = scene.region.agent() + offsetof(RecordingAgent, session_name);
  scene.memory.must_write(name, session_name, sizeof session_name);
  const long file = scene.call(SYS_memfd_create, name, MFD_CLOEXEC);
  check_call(file, "make shared memory");
  file_ = open(file_name(process_, file).c_str(), O_RDWR | O_CLOEXEC);
  const int open_error = file_ < 0 ? errno : 0;
  const int size_error = file_ < 0 ? 0 : give_size(file_);
  const long mapped = open_error == 0 && size_error == 0 ? map_session(scene, area, file) : 0;
  // Before any refusal: the process must not keep a descriptor of ours.
  scene.call(SYS_close, file);
  if (open_error != 0) {
    throw Refusal(std::string("its shared memory cannot be opened: ") + std::strerror(open_error));
  }
  if (size_error != 0) {
    throw Refusal(std::string("the shared memory for its calls cannot be made (") +
                  std::strerror(size_error) + "); raise the file size limit: ulimit -f unlimited");
  }
  check_call(mapped, "map 1.2 GiB of address space, for which its limit (ulimit -v) may be too low");
  area_ = static_cast<std::uint64_t>(mapped);
  scene.call(SYS_madvise, area_, recorder::area_bytes, MADV_DONTDUMP);
}

// Returns its address; on failure nothing stays mapped.
long RecordingObserver::map_session(const Scene& scene, std::uint64_t area, long file) {
  const int fixed = area != 0 ? MAP_FIXED : 0;
  // If a thread of the recording before the last one may still be in a hook, its stack stays.
  const long begin =
      scene.call(SYS_mmap, area, area != 0 ? recorder::replaced_bytes : recorder::area_bytes,
                 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
  long mapped = begin;
  if (begin > 0) {
    mapped = scene.call(SYS_mmap, begin, recorder::mapped_bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file, 0);
  }
  if (mapped < 0 && begin > 0) scene.call(SYS_munmap, begin, recorder::area_bytes);
  return mapped;
}

// What the process would say about itself.
void RecordingObserver::describe(const Plan& plan) const {
  constexpr std::size_t page_bytes = 4096;
  static_assert(offsetof(ProcessBlock, pcs) == page_bytes);
  void* const memory = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_,
                            static_cast<off_t>(session::process_offset(0)));
  if (memory == MAP_FAILED) throw Refusal("there is no memory to record its calls");
  auto* const block = static_cast<ProcessBlock*>(memory);
  block->process_id = static_cast<std::uint32_t>(tracee::number_within(process_));
  auto status = tracee::read_status(process_);
  const auto parent = static_cast<pid_t>(tracee::number_in(status["PPid"]));
  const bool is_beside = link_of(process_, "ns/pid") == link_of(parent, "ns/pid");
  block->parent_process_id = is_beside ? static_cast<std::uint32_t>(tracee::number_within(parent)) : 0;
  // As session/seccomp_status.hpp has it.
  block->seccomp_at_start = static_cast<std::uint32_t>(tracee::number_in(status["Seccomp"]) +
                                                       tracee::number_in(status["Seccomp_filters"]));
  struct stat space {};
  if (stat(("/proc/" + std::to_string(process_) + "/ns/pid").c_str(), &space) == 0) {
    block->pid_namespace = static_cast<std::uint32_t>(space.st_ino);
  }
  copy_text(block->executable, link_of(process_, "exe"));
  copy_text(block->started_as, plan.started_as);
  copy_text(block->allocator, plan.main().name);
  block->state.store(session::process_live, std::memory_order_release);
  munmap(memory, page_bytes);
}

void RecordingObserver::begin(const Scene& scene) {
  const std::uint64_t agent = scene.region.agent();
  const auto before = std::make_unique<RecordingAgent>(scene.memory.value_at<RecordingAgent>(agent));
  if (scene.plan.is_reused) forget_threads(scene);
  const auto made = std::make_unique<RecordingAgent>();
  made->common = make_agent(scene.plan);
  made->second = make_second(scene.plan);
  for (const Patch& patch : scene.plan.patches) {
    if (patch.is_second) made->second_functions[agent::index_of(patch.entry)] = name_giver(scene.plan, patch);
  }
  made->common.attachment = before->common.attachment + 1;
  made->threads_unloading = before->threads_unloading;
  made->identity_offset = find_identity(scene);
  made->find_object = reinterpret_cast<decltype(made->find_object)>(scene.plan.find_object);
  made->headers = scene.plan.headers;
  made->header_count = scene.plan.header_count;
  made->entry = scene.plan.entry;
  made->loader = scene.plan.loader;
  if (scene.plan.frames.bytes != 0) add_frame_table(scene, *made);
  made->stack_end = find_stack_end(scene);
  made->allocator_code = scene.plan.allocator.code;
  made->allocator_code_bytes = scene.plan.allocator.code_bytes;
  if (scene.plan.second) {
    made->second_code = scene.plan.second->code;
    made->second_code_bytes = scene.plan.second->code_bytes;
  }
  made->libc_code = scene.plan.libc_code;
  made->libc_code_bytes = scene.plan.libc_code_bytes;
  made->is_filtered = may_be_filtered(scene) ? 1 : 0;
  made->agent_code = scene.region.image();
  made->agent_code_bytes = scene.region.data() - scene.region.image();
  std::fill_n(made->claims, recorder::max_lanes, 1U);
  const std::size_t turn = made->common.attachment % 2;
  // Left by an attachment that was killed, or that ended while a thread was in a hook.
  if (before->areas[1 - turn] != 0 && !is_thread_within(scene)) {
    scene.call(SYS_munmap, before->areas[1 - turn], recorder::area_bytes);
  } else if (before->areas[1 - turn] != 0) {
    put_plain_memory(scene, before->areas[1 - turn]);
    made->areas[1 - turn] = before->areas[1 - turn];
  }
  make_session(scene, before->areas[turn]);
  made->areas[turn] = area_;
  describe(scene.plan);
  made->control = reinterpret_cast<session::Control*>(area_);
  made->block = reinterpret_cast<ProcessBlock*>(area_ + session::process_offset(0));
  made->sampled = reinterpret_cast<recorder::SampledMemory*>(area_ + recorder::mapped_bytes);
  made->stacks = reinterpret_cast<recorder::StackMemory*>(area_ + recorder::replaced_bytes);
  if (scene.plan.interpreter.runtime != 0) {
    made->interpreter = scene.plan.interpreter;
    made->interpreter.tables = &made->block->python;
    made->python_stacks = reinterpret_cast<recorder::PythonStackMemory*>(made->stacks + agent::max_threads);
  }
  // At once: a thread may still be in a hook of the last recording.
  scene.memory.must_put(agent, *made);
  scene.memory.must_put(scene.region.threads() + offsetof(WipedOnFork, origin), recorder::Origin::attached);
}

// The word that makes them count is written last.
void RecordingObserver::hand_on(const TargetMemory& memory, const Region& region,
                                const RecordedImages& images) {
  const std::uint64_t agent = region.agent();
  const auto put = [&](std::size_t offset, const std::string& text) {
    memory.must_write(agent + offset, reinterpret_cast<const std::uint8_t*>(text.c_str()), text.size() + 1);
  };
  if (images.library.size() >= sizeof RecordingAgent::library ||
      images.session.size() >= sizeof RecordingAgent::session) {
    return;
  }
  put(offsetof(RecordingAgent, library), images.library);
  put(offsetof(RecordingAgent, session), images.session);
  memory.must_put(agent + offsetof(RecordingAgent, has_images), std::uint32_t{1});
}

bool RecordingObserver::unmap(const Scene& scene) {
  scene.memory.must_put(scene.region.agent() + offsetof(RecordingAgent, has_images), std::uint32_t{0});
  if (is_thread_within(scene)) {
    put_plain_memory(scene, area_);
    return false;
  }
  const std::uint64_t agent = scene.region.agent();
  const auto attachment =
      scene.memory.value_at<std::uint64_t>(agent + offsetof(RecordingAgent, common.attachment));
  scene.memory.must_put(agent + offsetof(RecordingAgent, areas) + attachment % 2 * sizeof area_,
                        std::uint64_t{0});
  scene.call(SYS_munmap, area_, recorder::area_bytes);
  return true;
}

std::string RecordingObserver::place() const { return "\"session\": \"" + file_name(getpid(), file_) + "\""; }

}  // namespace heapwright::attach
