// SPDX-License-Identifier: MIT
#include "apply/remedy_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>
#include <initializer_list>

#include "base/kept_blocks.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::apply {

namespace {

constexpr std::uint64_t most_trim_ms = 3'600'000;
constexpr std::uint64_t least_trim_ms = 10;

struct Text {
  const char* begin;
  std::size_t length;
  bool is(const char* word) const noexcept {
    return std::strlen(word) == length && std::memcmp(begin, word, length) == 0;
  }
};

int hex_digit(char letter) noexcept {
  if (letter >= '0' && letter <= '9') return letter - '0';
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
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
  bool take(char letter) noexcept {
    if (!is_at(letter)) return false;
    ++at_;
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
      if (!take('\n')) return at_ < end_;
      ++line_;
    }
  }
  bool end_statement() noexcept {
    skip_spaces();
    return at_ == end_ || is_at('\n') || is_at('#') || fail("more than one value in a line");
  }

  Text word() noexcept {
    const char* begin = at_;
    while (at_ < end_ && ((*at_ >= 'a' && *at_ <= 'z') || *at_ == '_')) ++at_;
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }

  // Copies a string without control characters. Escapes: \" and \\.
  bool string(char* into, std::size_t capacity) noexcept {
    skip_spaces();
    if (!take('"')) return fail("expected a text in double quotes");
    std::size_t used = 0;
    while (at_ < end_ && *at_ != '"') {
      if (static_cast<unsigned char>(*at_) < ' ') return fail("a text that its line does not end");
      if (take('\\') && !is_at('"') && !is_at('\\')) return fail("an escape other than \\\" and \\\\");
      if (at_ == end_ || used + 1 >= capacity) return fail("a text that is too long");
      into[used++] = *at_++;
    }
    into[used] = '\0';
    return take('"') || fail("a text that does not end");
  }

  bool number(std::uint64_t* into) noexcept {
    skip_spaces();
    if (at_ == end_ || *at_ < '0' || *at_ > '9') return fail("expected a number");
    std::uint64_t value = 0;
    for (; at_ < end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
      const auto digit = static_cast<std::uint64_t>(*at_ - '0');
      if (__builtin_mul_overflow(value, std::uint64_t{10}, &value) ||
          __builtin_add_overflow(value, digit, &value)) {
        return fail("a number that is too large");
      }
    }
    *into = value;
    return true;
  }

  bool statement() noexcept {
    if (take('[')) return header();
    const Text key = word();
    skip_spaces();
    if (key.length == 0 || !take('=')) return fail("expected name = value");
    const bool is_read = section_ == Section::top      ? top_value(key)
                         : section_ == Section::module ? module_value(key)
                                                       : remedy_value(key);
    return is_read && end_statement();
  }

  bool header() noexcept {
    const bool is_double = take('[');
    const Text name = word();
    if (!is_double || !take(']') || !take(']')) return fail("expected [[module]] or [[remedy]]");
    if (name.is("module")) {
      section_ = Section::module;
      if (into_.module_count == most_modules) return fail("more than 32 modules");
      ++into_.module_count;
      return end_statement();
    }
    if (!name.is("remedy")) return fail("expected [[module]] or [[remedy]]");
    section_ = Section::remedy;
    if (into_.remedy_count == most_remedies) return fail("more than 16 remedies");
    into_.remedies[into_.remedy_count++].most_bytes = base::usual_kept_bytes;
    return end_statement();
  }

  bool top_value(Text key) noexcept {
    if (!key.is("version")) return fail("a name that is not known here");
    std::uint64_t version = 0;
    if (!number(&version)) return false;
    has_version_ = version == 1;
    return has_version_ || fail("a version of the file that is not known here: write it anew");
  }

  bool module_value(Text key) noexcept {
    Module& module = into_.modules[into_.module_count - 1];
    if (key.is("name")) return string(module.name, sizeof module.name);
    if (!key.is("build_id")) return fail("a name that is not known here");
    char digits[2 * sizeof module.build_id + 1];
    if (!string(digits, sizeof digits)) return false;
    const std::size_t length = std::strlen(digits);
    if (length == 0 || length % 2 != 0) return fail("a build id that is none");
    for (std::size_t i = 0; i < length; i += 2) {
      const int high = hex_digit(digits[i]);
      const int low = hex_digit(digits[i + 1]);
      if (high < 0 || low < 0) return fail("a build id that is none");
      module.build_id[i / 2] = static_cast<std::uint8_t>(high * 16 + low);
    }
    module.build_id_bytes = static_cast<std::uint32_t>(length / 2);
    return true;
  }

  bool remedy_value(Text key) noexcept {
    Remedy& remedy = into_.remedies[into_.remedy_count - 1];
    if (key.is("change")) return change(remedy);
    if (key.is("site")) return string(remedy.site, sizeof remedy.site);
    if (key.is("most_bytes")) return number(&remedy.most_bytes);
    if (key.is("stacks")) return stacks();
    if (!key.is("every_ms")) return fail("a name that is not known here");
    std::uint64_t every_ms = 0;
    if (!number(&every_ms)) return false;
    if (every_ms < least_trim_ms || every_ms > most_trim_ms) return fail("every_ms is 10 to 3600000");
    remedy.every_ms = static_cast<std::uint32_t>(every_ms);
    return true;
  }

  bool change(Remedy& remedy) noexcept {
    char name[32];
    if (!string(name, sizeof name)) return false;
    for (const RemedyKind kind : {RemedyKind::segregate, RemedyKind::reuse, RemedyKind::defer,
                                  RemedyKind::trim, RemedyKind::skip_frees}) {
      if (std::strcmp(name, name_of(kind)) == 0) remedy.kind = kind;
    }
    return remedy.kind != RemedyKind::none || fail("a change that is not known here");
  }

  // [["0:0x12", "1:0x34"], …], over several lines.
  bool stacks() noexcept {
    skip_spaces();
    if (!take('[')) return fail("expected a list of stacks");
    for (;;) {
      if (!skip_blank_lines()) return fail("a list that does not end");
      if (take(']')) return true;
      if (into_.stack_count == most_stacks) return fail("more than 512 stacks");
      Stack& read = into_.stacks[into_.stack_count];
      read.remedy = into_.remedy_count - 1;
      if (!stack(read)) return false;
      ++into_.stack_count;
      skip_spaces();
      if (!take(',') && !is_at(']') && !is_at('\n')) return fail("expected , or ] in a list");
    }
  }

  bool stack(Stack& into) noexcept {
    if (!take('[')) return fail("expected a list of frames");
    do {
      if (into.frame_count == most_frames) return fail("more than 8 frames in a stack");
      if (!frame(into.frames[into.frame_count++])) return false;
      skip_spaces();
    } while (take(','));
    return take(']') || fail("expected , or ] in a list");
  }

  bool frame(Frame& into) noexcept {
    char words[64];
    if (!string(words, sizeof words)) return false;
    const char* at = words;
    std::uint32_t module = 0;
    for (; *at >= '0' && *at <= '9' && module <= most_modules; ++at) {
      module = module * 10 + static_cast<std::uint32_t>(*at - '0');
    }
    if (at == words || std::strncmp(at, ":0x", 3) != 0) return fail("a frame is \"module:0xoffset\"");
    at += 3;
    std::uint64_t offset = 0;
    const char* const digits = at;
    for (; hex_digit(*at) >= 0; ++at) offset = offset * 16 + static_cast<std::uint64_t>(hex_digit(*at));
    if (at == digits || at - digits > 16 || *at != '\0') return fail("a frame is \"module:0xoffset\"");
    into = {module, offset};
    return true;
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

const char* name_of(RemedyKind kind) noexcept {
  switch (kind) {
    case RemedyKind::segregate:
      return "segregate";
    case RemedyKind::reuse:
      return "reuse";
    case RemedyKind::defer:
      return "defer";
    case RemedyKind::trim:
      return "trim";
    case RemedyKind::skip_frees:
      return "skip-frees-at-exit";
    case RemedyKind::none:
      break;
  }
  return "none";
}

FileError parse_remedies(const char* text, std::size_t bytes, Remedies& into) noexcept {
  std::memset(static_cast<void*>(&into), 0, sizeof into);
  const FileError error = Parser(text, bytes, into).parse();
  if (error.what != nullptr) std::memset(static_cast<void*>(&into), 0, sizeof into);
  return error;
}

namespace {

using platform::raw_argument;
using platform::raw_syscall;

// The bytes read; below 0: -errno.
long read_whole(long file, char* into, std::size_t capacity) noexcept {
  std::size_t used = 0;
  while (used < capacity) {
    const long got =
        raw_syscall(SYS_read, file, raw_argument(into + used), static_cast<long>(capacity - used));
    if (got < 0) return got;
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  return static_cast<long>(used);
}

}  // namespace

FileError read_remedies(const char* path, Remedies& into) noexcept {
  // O_NONBLOCK: a pipe without a writer must not stop the program.
  const long file = raw_syscall(SYS_openat, AT_FDCWD, raw_argument(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {"cannot be opened", 0};
  const std::size_t capacity = most_file_bytes + 1;
  const long memory = raw_syscall(SYS_mmap, 0, static_cast<long>(capacity), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory < 0 && memory > -4096) {
    raw_syscall(SYS_close, file);
    return {"no memory to read it", 0};
  }
  auto* const text = reinterpret_cast<char*>(memory);
  const long bytes = read_whole(file, text, capacity);
  raw_syscall(SYS_close, file);
  FileError error{"cannot be read", 0};
  if (bytes > static_cast<long>(most_file_bytes)) error.what = "is longer than 256 KiB";
  if (bytes >= 0 && bytes <= static_cast<long>(most_file_bytes)) {
    error = parse_remedies(text, static_cast<std::size_t>(bytes), into);
  }
  raw_syscall(SYS_munmap, memory, static_cast<long>(capacity));
  return error;
}

}  // namespace heapwright::apply
