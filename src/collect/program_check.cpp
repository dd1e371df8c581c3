// SPDX-License-Identifier: MIT
#include "collect/program_check.hpp"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <string_view>

#include "collect/elf_facts.hpp"
#include "collect/needed_libraries.hpp"
#include "collect/own_processor.hpp"
#include "collect/unseen_allocators.hpp"

namespace heapwright::collect {
namespace {

// The kernel follows five.
constexpr int most_script_levels = 5;
constexpr std::size_t interpreter_line_bytes = 255;

struct Found {
  std::string path;    // empty: not found
  std::string reason;  // then
};

bool is_regular_executable(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::string why_not_executable(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return "there is no program '" + path + "'; check the name";
    return "cannot start '" + path + "': " + std::strerror(errno);
  }
  if (S_ISDIR(status.st_mode)) return "'" + path + "' is a folder, not a program";
  if (!S_ISREG(status.st_mode)) return "'" + path + "' is not a program file";
  return "'" + path + "' is not executable; make it so with: chmod +x " + path;
}

// Like execvp(), but gives the reason for a failure.
Found find_program(const std::string& name, const std::string& search_path) {
  if (name.find('/') != std::string::npos) {
    if (is_regular_executable(name)) return {name, ""};
    return {"", why_not_executable(name)};
  }
  std::string unusable;
  std::istringstream folders(search_path);
  std::string folder;
  while (std::getline(folders, folder, ':')) {
    const std::string path = (folder.empty() ? "." : folder) + "/" + name;
    if (is_regular_executable(path)) return {path, ""};
    struct stat status;
    if (unusable.empty() && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) unusable = path;
  }
  if (!unusable.empty()) return {"", why_not_executable(unusable)};
  const std::string hint = access(name.c_str(), F_OK) == 0 ? "; the file in this folder is ./" + name
                                                           : "; check the name and PATH";
  return {"", "there is no program '" + name + "' in PATH" + hint};
}

std::string first_line(int file) {
  char text[interpreter_line_bytes + 1];
  const ssize_t length = pread(file, text, interpreter_line_bytes, 0);
  const std::string head(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  return head.substr(0, head.find('\n'));
}

// "#!/usr/bin/env -S python3 -u", parsed like the kernel and env do.
struct InterpreterLine {
  std::string path;
  std::string argument;  // all the rest of the line, one argument
};

InterpreterLine parse_interpreter(const std::string& line) {
  const char blanks[] = " \t\r";
  const std::size_t begin = line.find_first_not_of(blanks, 2);
  if (begin == std::string::npos) return {};
  const std::size_t end = line.find_first_of(blanks, begin);
  InterpreterLine parsed{line.substr(begin, end - begin), ""};
  const std::size_t argument = end == std::string::npos ? end : line.find_first_not_of(blanks, end);
  if (argument != std::string::npos) {
    parsed.argument = line.substr(argument, line.find_last_not_of(blanks) + 1 - argument);
  }
  return parsed;
}

// "env NAME" only starts another program, which would be recorded only with --children, so that program is
// started directly.
std::vector<std::string> program_behind_env(const InterpreterLine& line) {
  const std::size_t slash = line.path.rfind('/');
  if (line.path.substr(slash == std::string::npos ? 0 : slash + 1) != "env") return {};
  std::vector<std::string> words;
  std::istringstream text(line.argument);
  std::string word;
  if (!line.argument.starts_with("-S")) {
    if (line.argument.empty() || line.argument[0] == '-' || line.argument.find('=') != std::string::npos) {
      return {};
    }
    return {line.argument};
  }
  text.ignore(2);
  while (text >> word) words.push_back(word);
  const bool is_plain = !words.empty() && words[0][0] != '-' && words[0].find('=') == std::string::npos &&
                        line.argument.find_first_of("'\"\\$") == std::string::npos;
  return is_plain ? words : std::vector<std::string>{};
}

// What /lib64/ld-linux-x86-64.so.2 is told to run, if it names a file; empty: nothing to check.
std::string program_behind_loader(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 7> with_value = {
      "--library-path",         "--inhibit-rpath",    "--audit", "--preload", "--argv0",
      "--glibc-hwcaps-prepend", "--glibc-hwcaps-mask"};
  for (std::size_t index = 1; index < words.size(); ++index) {
    const std::string& word = words[index];
    if (!word.starts_with("--")) return word.find('/') == std::string::npos ? "" : word;
    if (std::find(with_value.begin(), with_value.end(), word) != with_value.end()) ++index;
  }
  return "";
}

const char pure_go[] =
    " is a Go program without C code: the Go runtime's heap makes no heap calls that could be recorded; look "
    "at it with Go's pprof";

class Check {
 public:
  Check(const std::vector<std::string>& command, const std::string& search_path, Way way)
      : search_path_(search_path), way_(way) {
    result_.arguments = command;
  }

  ProgramCheck run() {
    const Found found = find_program(result_.arguments[0], search_path_);
    if (found.path.empty()) return refuse(found.reason);
    result_.path = found.path;
    std::string file_path = found.path;
    for (int step = 0; step < most_script_levels; ++step) {
      std::string interpreter;
      if (!look_into(file_path, interpreter)) return result_;
      if (interpreter.empty()) return result_;
      file_path = interpreter;
    }
    return refuse("'" + result_.arguments[0] +
                  "': too many nested interpreters; run the innermost one directly");
  }

 private:
  ProgramCheck refuse(const std::string& reason) {
    result_.refusal = reason;
    return result_;
  }

  // False when refused; `interpreter` is set when the file is a script.
  bool look_into(const std::string& path, std::string& interpreter) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
      refuse("cannot read '" + path + "' (" + std::strerror(errno) +
             "); heapwright must read a program to check it");
      return false;
    }
    const ElfFacts facts = inspect_elf(file);
    const std::string line = facts.is_elf ? "" : first_line(file);
    const bool has_capabilities = fgetxattr(file, "security.capability", nullptr, 0) > 0;
    struct stat status;
    const bool has_mode = fstat(file, &status) == 0;
    close(file);
    set_executable_if(path, facts);
    if (is_under_loader_) return !facts.is_elf || judge(path, facts);  // the loader heeds no mode
    if (!facts.is_elf) return take_script(path, line, interpreter);
    if (has_mode && (status.st_mode & (S_ISUID | S_ISGID)) != 0) {
      return refuse_privileged(path, "setuid or setgid");
    }
    if (has_capabilities) return refuse_privileged(path, "given file capabilities");
    if (!facts.is_loader()) return judge(path, facts);
    is_under_loader_ = true;
    interpreter = program_behind_loader(result_.arguments);
    return true;
  }

  void set_executable_if(const std::string& path, const ElfFacts& facts) {
    if (!facts.is_elf) return;
    char* real_path = realpath(path.c_str(), nullptr);
    result_.executable = real_path != nullptr ? real_path : path;
    free(real_path);
    result_.is_starter = is_starter(result_.executable);
  }

  bool refuse_privileged(const std::string& path, const std::string& what) {
    refuse("'" + path + "' is " + what +
           ", and the loader ignores preloaded libraries in such programs; record a copy: cp " + path +
           " ./copy");
    return false;
  }

  // A script without an interpreter line is run by the shell, as execvp does.
  bool take_script(const std::string& path, const std::string& line, std::string& interpreter) {
    if (!line.starts_with("#!")) {
      if (line.find('\0') != std::string::npos) {
        refuse("'" + path + "' is neither a program nor a script");
        return false;
      }
      interpreter = "/bin/sh";
      put_in_front({"/bin/sh"}, path);
      return true;
    }
    const InterpreterLine parsed = parse_interpreter(line);
    const std::vector<std::string> behind_env = program_behind_env(parsed);
    if (behind_env.empty()) {
      interpreter = parsed.path;
      if (is_regular_executable(interpreter)) return true;
      refuse("the interpreter of '" + path + "': " + why_not_executable(interpreter));
      return false;
    }
    const Found found = find_program(behind_env[0], search_path_);
    if (found.path.empty()) {
      refuse("the interpreter of '" + path + "': " + found.reason);
      return false;
    }
    interpreter = found.path;
    put_in_front(behind_env, path);
    return true;
  }

  void put_in_front(const std::vector<std::string>& interpreter, const std::string& script) {
    result_.arguments[0] = script;
    result_.arguments.insert(result_.arguments.begin(), interpreter.begin(), interpreter.end());
    const Found found = find_program(interpreter[0], search_path_);
    result_.path = found.path.empty() ? interpreter[0] : found.path;
  }

  bool judge(const std::string& path, const ElfFacts& facts) {
    std::string reason;
    result_.is_static = facts.interpreter.empty() && facts.sanitizer.empty() && !is_under_loader_;
    if (!facts.is_64_bit || (facts.is_readable && !facts.is_of_own_processor)) {
      const std::string processor(own_processor);
      reason = " is built for another processor; this heapwright records 64-bit programs for " + processor +
               ", so build it for that";
    } else if (!facts.is_readable) {
      reason = " is a damaged program file; build or install it again";
    } else if (facts.interpreter.empty() && facts.runtime == "Go" && !facts.defines_malloc) {
      reason = pure_go;
    } else if (facts.interpreter.empty() && way_ == Way::preloaded) {
      reason = std::string(" is linked statically, so no library can be preloaded; ") +
               (can_attach ? "record it with --patch, or link it" : "link it") +
               " dynamically (without -static)";
    } else if (!facts.sanitizer.empty()) {
      reason =
          " is built with " + facts.sanitizer + ", which brings its own heap; build it without -fsanitize";
    }
    if (!reason.empty()) {
      refuse("'" + path + "'" + reason);
      return false;
    }
    result_.defines_malloc = facts.defines_malloc;
    result_.has_inner_allocator = has_inner_allocator(path, facts) || is_inside_of_library();
    const std::string unseen =
        unseen_in(path, facts, way_ == Way::patched ? Role::patched_program : Role::program);
    if (!unseen.empty()) result_.notes.push_back(unseen);
    return true;
  }

  // Stripped ones cannot be patched, and the system's are.
  bool is_inside_of_library() const {
    const char* const library_path = getenv("LD_LIBRARY_PATH");
    const auto libraries = needed_libraries(result_.executable, library_path != nullptr ? library_path : "");
    return std::any_of(libraries.begin(), libraries.end(), [](const std::string& library) {
      return has_symbol_table(library) && has_inner_allocator(library, facts_of(library));
    });
  }

  static ElfFacts facts_of(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return {};
    ElfFacts facts = inspect_elf(file);
    close(file);
    return facts;
  }

  const std::string& search_path_;
  Way way_;
  bool is_under_loader_ = false;
  ProgramCheck result_;
};

}  // namespace

bool is_starter(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  for (const char* starter :
       {"sh",    "bash",    "dash",    "ksh",     "zsh",     "busybox", "env",    "nice",
        "time",  "timeout", "setpriv", "runuser", "su",      "sudo",    "chroot", "unshare",
        "nohup", "setsid",  "stdbuf",  "xargs",   "taskset", "ionice",  "chrt"}) {
    if (name == starter) return true;
  }
  return false;
}

ProgramCheck check_program(const std::vector<std::string>& command, const std::string& search_path, Way way) {
  return Check(command, search_path, way).run();
}

}  // namespace heapwright::collect
