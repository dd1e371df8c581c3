// SPDX-License-Identifier: MIT
#include "apply/loaded_modules.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>

#include <atomic>
#include <cstring>

#include "apply/deferred_frees.hpp"
#include "apply/remedy_file.hpp"
#include "apply/sites.hpp"
#include "apply/watch_page.hpp"
#include "heap/base/messages.hpp"
#include "platform/raw_syscall.hpp"
#include "unwind/program_headers.hpp"

namespace heapwright::apply {

namespace {

struct LoadedModule {
  bool is_loaded;
  bool is_other_build;  // an object of its name is loaded, with another build id
  unwind::ObjectTables tables;
};

struct State {
  std::atomic<bool> is_busy;
  std::uint64_t loads;  // ever, and unloads
  bool is_known;
  bool is_said[most_remedies];
  char program[128];  // name of its file
  LoadedModule modules[most_modules];
  ArmedStack stacks[most_stacks];
};
constinit State state{};

const char* without_folder(const char* path) noexcept {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

void find_program() noexcept {
  char path[4096];
  const long length =
      platform::raw_syscall(SYS_readlinkat, AT_FDCWD, platform::raw_argument("/proc/self/exe"),
                            platform::raw_argument(path), sizeof path - 1);
  if (length <= 0) return;
  path[length] = '\0';
  const char* name = without_folder(path);
  std::memcpy(state.program, name, strnlen(name, sizeof state.program - 1));
}

void note_object(const Remedies& remedies, const dl_phdr_info& object) noexcept {
  const unwind::ProgramHeaders headers{object.dlpi_phdr, object.dlpi_phnum};
  const unwind::ObjectTables tables = unwind::tables_of(headers, object.dlpi_addr);
  const unwind::BuildId id = unwind::read_build_id(tables);
  const bool is_program = object.dlpi_name == nullptr || *object.dlpi_name == '\0';
  const char* name = is_program ? state.program : without_folder(object.dlpi_name);
  for (std::uint32_t i = 0; i < remedies.module_count; ++i) {
    const Module& wanted = remedies.modules[i];
    LoadedModule& module = state.modules[i];
    const bool is_it = id.size_bytes != 0 && id.size_bytes == wanted.build_id_bytes &&
                       std::memcmp(id.bytes, wanted.build_id, id.size_bytes) == 0;
    if (is_it && !module.is_loaded) module = {true, false, tables};
    if (!is_it && std::strcmp(name, wanted.name) == 0) module.is_other_build = true;
  }
}

void find_modules(const Remedies& remedies) noexcept {
  for (LoadedModule& module : state.modules) module = {};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* of) {
        note_object(*static_cast<const Remedies*>(of), *object);
        return 0;
      },
      const_cast<Remedies*>(&remedies));
}

std::uint64_t count_loads() noexcept {
  std::uint64_t loads = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* into) {
        *static_cast<std::uint64_t*>(into) = object->dlpi_adds + object->dlpi_subs;
        return 1;
      },
      &loads);
  return loads;
}

void say_off(const Remedies& remedies, std::uint32_t remedy, const char* module, const char* why) noexcept {
  if (state.is_said[remedy]) return;
  state.is_said[remedy] = true;
  heap::Line line;
  line.text(name_of(remedies.remedies[remedy].kind)).text("@").text(remedies.remedies[remedy].site);
  line.text(" is off: ").text(module).text(why).write();
}

constexpr char built_anew[] = " was built anew; record it and keep it";

// frame_count stays 0 unless all of its code is loaded and can be followed.
void arm(const Remedies& remedies, const Stack& stack, ArmedStack& into) noexcept {
  into = {};
  into.remedy = stack.remedy;
  for (std::uint32_t i = 0; i < stack.frame_count; ++i) {
    const Frame& frame = stack.frames[i];
    const LoadedModule& module = state.modules[frame.module];
    const char* name = remedies.modules[frame.module].name;
    if (!module.is_loaded) {
      if (module.is_other_build) say_off(remedies, stack.remedy, name, built_anew);
      return;
    }
    into.addresses[i] = module.tables.bias + frame.offset;
    if (i + 1 == stack.frame_count) break;
    into.rules[i] = unwind::evaluate_rule(module.tables, into.addresses[i], false);
    const unwind::RuleType type = into.rules[i].type();
    if (type != unwind::RuleType::rsp_offset && type != unwind::RuleType::rbp_offset &&
        type != unwind::RuleType::rbp_load) {
      return say_off(remedies, stack.remedy, name, " lacks unwind tables there");
    }
  }
  into.frame_count = stack.frame_count;
  if (remedies.remedies[stack.remedy].kind == RemedyKind::defer) start_deferring();
  publish_watch_page();
}

}  // namespace

void arm_loaded(const Remedies& remedies) noexcept {
  if (state.is_busy.exchange(true, std::memory_order_acquire)) return;
  const std::uint64_t loads = count_loads();
  if (!state.is_known || loads != state.loads) {
    if (!state.is_known) find_program();
    state.is_known = true;
    state.loads = loads;
    find_modules(remedies);
    for (std::uint32_t i = 0; i < remedies.stack_count; ++i) {
      arm(remedies, remedies.stacks[i], state.stacks[i]);
    }
    arm_stacks(state.stacks, remedies.stack_count);
  }
  state.is_busy.store(false, std::memory_order_release);
}

void forget_arming_thread() noexcept {
  if (!state.is_busy.load(std::memory_order_relaxed)) return;
  state.is_known = false;
  state.is_busy.store(false, std::memory_order_relaxed);
}

}  // namespace heapwright::apply
