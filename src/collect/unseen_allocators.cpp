// SPDX-License-Identifier: MIT
#include "collect/unseen_allocators.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "collect/session_text.hpp"
#include "trace/records.hpp"

namespace heapwright::collect {
namespace {

// Its own functions are dynamically bound and recorded (src/record/own_names.cpp).
bool has_recorded_names(const std::string& allocator) {
  return allocator == "jemalloc" || allocator == "mimalloc" || allocator == "tcmalloc";
}

std::string file_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Whether the file is the allocator itself, such as libjemalloc.so.2 or a renamed copy of it.
bool is_library_of(const std::string& path, const ElfFacts& facts) {
  const std::string name = "lib" + facts.own_allocator;
  return file_of(path).starts_with(name) || facts.library_name.starts_with(name);
}

std::string real_path_of(const std::string& path) {
  char* const real = realpath(path.c_str(), nullptr);
  std::string found = real != nullptr ? real : path;
  free(real);
  return found;
}

// Programs that translate another one's code, or run it at other addresses: its functions are not ours to
// hook.
bool runs_another_in_itself(const std::string& path) {
  const std::string name = file_of(path);
  if (name == "rr") return true;
  for (const char* emulator : {"qemu-x86_64", "qemu-i386", "qemu-aarch64", "qemu-arm", "qemu-riscv64",
                               "qemu-ppc64", "qemu-s390x", "qemu-mips", "box64"}) {
    if (name.starts_with(emulator)) return true;
  }
  return false;
}

// Of the libraries that such a program preloads into the one that it runs, and that take its calls first.
std::string runner_of(const std::string& path) {
  const std::string name = file_of(path);
  if (name.starts_with("vgpreload_")) return "valgrind";
  return name.starts_with("librrpreload") ? "rr" : "";
}

bool has(const std::vector<std::string>& conditions, std::string_view beginning) {
  return std::any_of(conditions.begin(), conditions.end(),
                     [&](const std::string& line) { return line.starts_with(beginning); });
}

// Whether its calls are recorded: heapwright-attach says so of the second allocator.
bool is_beside(const std::string& library, const std::vector<std::string>& conditions) {
  const std::string name = " inside " + file_of(library) + " (";
  return std::any_of(conditions.begin(), conditions.end(), [&](const std::string& line) {
    return line.starts_with(trace::beside_condition) && line.find(name) != std::string::npos;
  });
}

const char remedy[] = "; record it with --patch to see these too, or link the allocator as a shared library";
const char library_remedy[] =
    "; record --pid records them once it is loaded, and so does record without --children if the program is "
    "linked to it";
const char stripped_remedy[] =
    "; it is stripped, so where its functions begin is unknown: keep its symbol table (no strip, no -s)";
const char other_remedy[] = "; link it as a shared library or preload it to record them";

const char* library_way_out(const ElfFacts& facts) {
  if (facts.own_allocator != "jemalloc" && facts.own_allocator != "mimalloc") return other_remedy;
  return facts.is_stripped ? stripped_remedy : library_remedy;
}

}  // namespace

std::string unseen_in(const std::string& path, const ElfFacts& facts, Role role) {
  const bool is_program = role != Role::library;
  if (const std::string runner = runner_of(path); !runner.empty()) {
    return "it ran under " + runner + ", which takes its heap calls: they are not seen; record it without " +
           runner;
  }
  if (is_program && runs_another_in_itself(path)) {
    return "'" + path + "' runs another program in itself: that program's heap calls are not seen; " +
           "record it without " + file_of(path);
  }
  if (role == Role::patched_program) return "";
  const std::string way_out = role == Role::program ? remedy : library_way_out(facts);
  const std::string allocator = facts.own_allocator.empty() ? "an allocator" : facts.own_allocator;
  const bool has_own_malloc =
      !facts.passes_malloc_on && (is_program ? facts.defines_malloc : facts.hides_malloc);
  if (has_own_malloc && role == Role::attached_program) return "";
  if (has_own_malloc) {
    return "'" + path + "' has " + allocator +
           " linked in statically and calls it directly: its heap calls are not seen" + way_out;
  }
  // A library that defines malloc, such as glibc's for checks, is called by the recorder's.
  if (facts.imports_libcs_own && !facts.defines_malloc) {
    return "'" + path + "' calls __libc_malloc or one like it: calls by these names are not seen; " +
           "call malloc to record them";
  }
  if (facts.own_allocator.empty()) {
    // Rust's own functions call malloc, unless the program brings something else.
    if (!facts.has_rust_allocator || facts.imports_malloc) return "";
    return "'" + path +
           "' is a Rust program that calls no malloc: it has an allocator of its own, whose calls " +
           "are not seen";
  }
  // Python's is for its objects, and in the usual build for those alone that ask for it: kept_inside().
  if (facts.own_allocator == "mimalloc" && facts.runtime.ends_with("Python")) return "";
  if (!is_library_of(path, facts)) {
    return "'" + path + "' has " + allocator +
           " linked in statically: calls to it are not seen, only those to malloc and free" + way_out;
  }
  if (has_recorded_names(facts.own_allocator)) return "";
  return "'" + path + "' is " + allocator +
         ": calls to its own functions are not seen, only those to malloc and free";
}

bool has_inner_allocator(const std::string& path, const ElfFacts& facts) {
  const bool is_known = facts.own_allocator == "jemalloc" || facts.own_allocator == "mimalloc";
  // CPython calls the mimalloc in it only if it is told to.
  return is_known && !is_library_of(path, facts) && !facts.runtime.ends_with("Python");
}

std::string kept_inside(const std::string& path, const ElfFacts& facts,
                        const std::vector<std::string>& conditions) {
  const std::string seen = ": of these the trace has the mappings, not the objects";
  if (facts.runtime == "Python") {
    if (has(conditions, "PYTHONMALLOC\tmalloc")) return "";
    const bool is_mimalloc = has(conditions, "PYTHONMALLOC\tmimalloc");
    return (is_mimalloc ? "Python keeps objects of any size in a mimalloc of its own"
                        : "Python keeps objects of up to 512 bytes in arenas of its own") +
           seen + "; PYTHONMALLOC=malloc makes each a call";
  }
  if (facts.runtime == "free-threaded Python") {
    return "free-threaded Python keeps its objects in a mimalloc of its own" + seen;
  }
  if (facts.runtime == "PHP") {
    if (has(conditions, "USE_ZEND_ALLOC\t0")) return "";
    return "PHP keeps its values in a heap of its own" + seen + "; USE_ZEND_ALLOC=0 makes each a call";
  }
  if (facts.runtime == "JavaScript") return "JavaScript's objects lie in V8's own heap" + seen;
  if (facts.runtime == "Java") return "Java's objects lie in the virtual machine's own heap" + seen;
  if (facts.runtime == "Go") {
    return "'" + path + "' has Go code, whose objects lie in the Go runtime's own heap: only what C code " +
           "allocates is in the trace";
  }
  return "";
}

const ElfFacts& UnseenAllocators::facts_of(const std::string& path) {
  const auto [entry, is_new] = known_.try_emplace(path);
  if (!is_new) return entry->second;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return entry->second;
  struct stat status;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) entry->second = inspect_elf(file);
  close(file);
  return entry->second;
}

UnseenAllocators::Found UnseenAllocators::of(const session::ProcessBlock& block,
                                             const std::set<std::string>& code_files,
                                             const std::vector<std::string>& conditions) {
  const std::string executable = text_of(block.executable);
  Found found;
  const auto add = [](std::vector<std::string>& lines, std::string line) {
    if (line.empty() || std::find(lines.begin(), lines.end(), line) != lines.end()) return;
    lines.push_back(std::move(line));
  };
  const bool is_patched =
      has(conditions, trace::patched_condition) || has(conditions, trace::beside_condition);
  const Role as_program = is_patched                                   ? Role::patched_program
                          : has(conditions, trace::attached_condition) ? Role::attached_program
                                                                       : Role::program;
  std::set<std::string> seen;
  const auto look_at = [&](const std::string& path) {
    if (!seen.insert(real_path_of(path)).second) return;
    const ElfFacts& facts = facts_of(path);
    // Under an explicit loader, the executable is the loader.
    const bool is_program = path == executable || (!facts.interpreter.empty() && facts.library_name.empty());
    if (is_program || !is_beside(path, conditions)) {
      add(found.unseen, unseen_in(path, facts, is_program ? as_program : Role::library));
    }
    if (found.runtime.empty()) found.runtime = facts.runtime;
    add(found.notes, kept_inside(path, facts, conditions));
  };
  look_at(executable);
  const std::uint32_t count =
      std::min(block.module_count.load(std::memory_order_acquire), session::max_modules);
  for (std::uint32_t index = 0; index < count; ++index) {
    const std::string path = text_of(block.modules[index].path);
    if (path.starts_with('/')) look_at(path);
  }
  for (const std::string& path : code_files) look_at(path);
  return found;
}

}  // namespace heapwright::collect
