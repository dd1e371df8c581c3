// SPDX-License-Identifier: MIT
#include "apply/remedy_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>
#include <iterator>

#include "base/kept_blocks.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::apply {

namespace {

constexpr std::uint64_t most_trim_ms = 3'600'000;
constexpr std::uint64_t least_trim_ms = 10;

constexpr const char* kind_names[] = {"none", "segregate", "reuse", "defer", "trim", "skip-frees-at-exit"};

unsigned digit_of(char letter) noexcept {
  if (letter >= '0' && letter <= '9') return static_cast<unsigned>(letter - '0');
  return letter >= 'a' && letter <= 'f' ? static_cast<unsigned>(letter - 'a' + 10) : ~0U;
}

class Parser {
 public:
  Parser(const char* text, std::size_t bytes, Remedies& into) noexcept
      : at_(text), end_(text + bytes), into_(into) {}

  FileError parse() noexcept {
    while (skip_blank_lines() && statement()) {
    }
    if (what_ == nullptr) check_whole();
    return {what_, line_};
  }

 private:
  enum class Section : std::uint8_t { top, module, remedy };

  bool fail(const char* what) noexcept {
    if (what_ == nullptr) what_ = what;
    return false;
  }
  bool is_at(char letter) const noexcept { return at_ < end_ && *at_ == letter; }
  bool take(const char* words) noexcept {
    const std::size_t length = std::strlen(words);
    if (static_cast<std::size_t>(end_ - at_) < length || std::memcmp(at_, words, length) != 0) return false;
    at_ += length;
    return true;
  }
  void skip_spaces() noexcept {
    while (is_at(' ') || is_at('\t')) ++at_;
  }
  // Spaces, comments and ends of lines. False: the file ends.
  bool skip_blank_lines() noexcept {
    for (;;) {
      skip_spaces();
      if (is_at('#')) {
        while (at_ < end_ && *at_ != '\n') ++at_;
      }
      if (!take("\n")) return at_ < end_;
      ++line_;
    }
  }

  // Copies a string without control characters. Escapes: \" and \\.
  bool string(char* into, std::size_t capacity) noexcept {
    if (!take("\"")) return fail("expected a text in double quotes");
    std::size_t used = 0;
    while (at_ < end_ && *at_ != '"') {
      if (static_cast<unsigned char>(*at_) < ' ') return fail("a text that its line does not end");
      if (take("\\") && !is_at('"') && !is_at('\\')) return fail("an escape other than \\\" and \\\\");
      if (at_ == end_ || used + 1 >= capacity) return fail("a text that is too long");
      into[used++] = *at_++;
    }
    into[used] = '\0';
    return take("\"") || fail("a text that does not end");
  }

  bool number(std::uint64_t* into, std::uint64_t base = 10) noexcept {
    if (at_ == end_ || digit_of(*at_) >= base) return fail("expected a number");
    for (*into = 0; at_ < end_ && digit_of(*at_) < base; ++at_) {
      if (__builtin_mul_overflow(*into, base, into) || __builtin_add_overflow(*into, digit_of(*at_), into)) {
        return fail("a number that is too large");
      }
    }
    return true;
  }

  bool statement() noexcept {
    if (is_at('[')) {
      if (!header()) return false;
    } else if (!value()) {
      return fail("expected name = value, with a name that is known here");
    }
    skip_spaces();
    return at_ == end_ || is_at('\n') || is_at('#') || fail("more than one value in a line");
  }

  bool header() noexcept {
    if (take("[[module]]")) {
      section_ = Section::module;
      if (into_.module_count == most_modules) return fail("more than 32 modules");
      ++into_.module_count;
      return true;
    }
    if (!take("[[remedy]]")) return fail("expected [[module]] or [[remedy]]");
    section_ = Section::remedy;
    if (into_.remedy_count == most_remedies) return fail("more than 16 remedies");
    into_.remedies[into_.remedy_count++].most_bytes = base::usual_kept_bytes;
    return true;
  }

  bool has_name(const char* name) noexcept {
    const char* const begin = at_;
    if (take(name)) {
      skip_spaces();
      if (take("=")) {
        skip_spaces();
        return true;
      }
    }
    at_ = begin;
    return false;
  }

  bool value() noexcept {
    if (section_ == Section::top) return has_name("version") && version();
    if (section_ == Section::module) {
      Module& module = into_.modules[into_.module_count - 1];
      if (has_name("name")) return string(module.name, sizeof module.name);
      return has_name("build_id") && build_id(module);
    }
    Remedy& remedy = into_.remedies[into_.remedy_count - 1];
    if (has_name("change")) return change(remedy);
    if (has_name("site")) return string(remedy.site, sizeof remedy.site);
    if (has_name("most_bytes")) return number(&remedy.most_bytes);
    if (has_name("stacks")) return stacks();
    return has_name("every_ms") && every_ms(remedy);
  }

  bool version() noexcept {
    std::uint64_t version = 0;
    if (!number(&version)) return false;
    has_version_ = version == 1;
    return has_version_ || fail("a version of the file that is not known here: write it anew");
  }

  bool build_id(Module& module) noexcept {
    char digits[2 * sizeof module.build_id + 1];
    if (!string(digits, sizeof digits)) return false;
    const std::size_t length = std::strlen(digits);
    for (std::size_t i = 0; i < length; ++i) {
      const unsigned digit = digit_of(digits[i]);
      if (digit > 15 || length % 2 != 0) return fail("a build id that is none");
      std::uint8_t& byte = module.build_id[i / 2];
      byte = static_cast<std::uint8_t>(byte << 4U | digit);
    }
    module.build_id_bytes = static_cast<std::uint32_t>(length / 2);
    return true;
  }

  bool every_ms(Remedy& remedy) noexcept {
    std::uint64_t every_ms = 0;
    if (!number(&every_ms)) return false;
    if (every_ms < least_trim_ms || every_ms > most_trim_ms) return fail("every_ms is 10 to 3600000");
    remedy.every_ms = static_cast<std::uint32_t>(every_ms);
    return true;
  }

  bool change(Remedy& remedy) noexcept {
    char name[32];
    if (!string(name, sizeof name)) return false;
    for (std::size_t kind = 1; kind < std::size(kind_names); ++kind) {
      if (std::strcmp(name, kind_names[kind]) == 0) remedy.kind = static_cast<RemedyKind>(kind);
    }
    return remedy.kind != RemedyKind::none || fail("a change that is not known here");
  }

  // [["0:0x12", "1:0x34"], …], over several lines.
  bool stacks() noexcept {
    if (!take("[")) return fail("expected a list of stacks");
    for (;;) {
      if (!skip_blank_lines()) return fail("a list that does not end");
      if (take("]")) return true;
      if (into_.stack_count == most_stacks) return fail("more than 512 stacks");
      Stack& read = into_.stacks[into_.stack_count];
      read.remedy = into_.remedy_count - 1;
      if (!stack(read)) return false;
      ++into_.stack_count;
      skip_spaces();
      if (!take(",") && !is_at(']') && !is_at('\n')) return fail("expected , or ] in a list");
    }
  }

  bool stack(Stack& into) noexcept {
    if (!take("[")) return fail("expected a list of frames");
    do {
      skip_spaces();
      if (into.frame_count == most_frames) return fail("more than 8 frames in a stack");
      Frame& frame = into.frames[into.frame_count++];
      const bool is_frame =
          take("\"") && number(&frame.module) && take(":0x") && number(&frame.offset, 16) && take("\"");
      if (!is_frame) return fail("a frame is \"module:0xoffset\"");
      skip_spaces();
    } while (take(","));
    return take("]") || fail("expected , or ] in a list");
  }

  void check_whole() noexcept {
    if (!has_version_) fail("no version: this is no remedy file");
    for (std::uint32_t i = 0; i < into_.module_count; ++i) {
      if (into_.modules[i].build_id_bytes == 0) fail("a module without a build id");
    }
    bool has_stacks[most_remedies] = {};
    for (std::uint32_t i = 0; i < into_.stack_count; ++i) {
      const Stack& stack = into_.stacks[i];
      has_stacks[stack.remedy] = true;
      for (std::uint32_t f = 0; f < stack.frame_count; ++f) {
        if (stack.frames[f].module >= into_.module_count) fail("a frame of a module that is not listed");
      }
    }
    for (std::uint32_t i = 0; i < into_.remedy_count; ++i) {
      const Remedy& remedy = into_.remedies[i];
      if (remedy.kind == RemedyKind::none) fail("a remedy without a change");
      if (remedy.kind == RemedyKind::trim && remedy.every_ms == 0) fail("trim needs every_ms");
      if (has_site(remedy.kind) == has_stacks[i]) continue;
      fail(has_stacks[i] ? "stacks of a remedy that has no site" : "a remedy without stacks");
    }
    if (into_.remedy_count == 0) fail("no remedy in it");
  }

  const char* at_;
  const char* const end_;
  Remedies& into_;
  std::size_t line_ = 1;
  const char* what_ = nullptr;
  Section section_ = Section::top;
  bool has_version_ = false;
};

}  // namespace

const char* name_of(RemedyKind kind) noexcept { return kind_names[static_cast<std::uint8_t>(kind)]; }

FileError parse_remedies(const char* text, std::size_t bytes, Remedies& into) noexcept {
  std::memset(static_cast<void*>(&into), 0, sizeof into);
  const FileError error = Parser(text, bytes, into).parse();
  if (error.what != nullptr) std::memset(static_cast<void*>(&into), 0, sizeof into);
  return error;
}

FileError read_remedies(const char* path, Remedies& into) noexcept {
  using platform::raw_argument;
  using platform::raw_syscall;
  // O_NONBLOCK: a pipe without a writer must not stop the program.
  const long file = raw_syscall(SYS_openat, AT_FDCWD, raw_argument(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {"cannot be opened", 0};
  constexpr long capacity = most_file_bytes + 1;
  FileError error{"cannot be read", 0};
  const long memory =
      raw_syscall(SYS_mmap, 0, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool has_memory = memory >= 0 || memory <= -4096;
  // One read has all of a file.
  const long bytes = has_memory ? raw_syscall(SYS_read, file, memory, capacity) : -1;
  raw_syscall(SYS_close, file);
  if (bytes == capacity) {
    error.what = "is longer than 256 KiB";
  } else if (bytes >= 0) {
    error = parse_remedies(reinterpret_cast<const char*>(memory), static_cast<std::size_t>(bytes), into);
  }
  if (has_memory) raw_syscall(SYS_munmap, memory, capacity);
  return error;
}

}  // namespace heapwright::apply
