// SPDX-License-Identifier: MIT
#include "collect/attached_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "collect/write_all.hpp"

namespace heapwright::collect {
namespace {

// The offset of a field's value; npos: there is no such field.
std::size_t value_of(const std::string& json, const std::string& name) {
  const std::string label = "\"" + name + "\": ";
  const std::size_t found = json.find(label);
  return found == std::string::npos ? found : found + label.size();
}

class SpawnAttributes {
 public:
  SpawnAttributes(int input, int output) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    posix_spawnattr_init(&attributes_);
    // Its own process group: Ctrl-C must reach only us, so that we end the recording in order.
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnAttributes() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;

  int spawn(pid_t& child, std::vector<std::string> words) {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    return posix_spawn(&child, arguments[0], &files_, &attributes_, arguments.data(), environ);
  }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

AttachedProcess::AttachedProcess(const std::string& attacher, const Options& options, bool is_inside) {
  std::vector<std::string> words{attacher};
  if (options.count_for != 0) {
    words.insert(words.end(), {"--held", "--keeper", std::to_string(options.count_for)});
  } else {
    words.emplace_back("--record");
  }
  if (is_inside) words.emplace_back("--inside");
  if (options.despite_seccomp) words.emplace_back("--despite-seccomp");
  if (options.follow_children) words.emplace_back("--children");
  words.push_back(std::to_string(options.process));
  int input[2];
  int output[2];
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) {
    throw UsageError(std::string("cannot start heapwright-attach: ") + std::strerror(errno));
  }
  const int error_number = SpawnAttributes(input[0], output[1]).spawn(attacher_, words);
  close(input[0]);
  close(output[1]);
  to_attacher_ = input[1];
  from_attacher_ = output[0];
  if (error_number != 0) {
    attacher_ = -1;
    detach();
    throw NotAttached("cannot start '" + attacher + "' (" + std::strerror(error_number) +
                      "); build it (make build), or name it with --attacher");
  }
  attached_ = read_line();
}

std::string AttachedProcess::read_line() {
  std::string line;
  char letter = 0;
  for (;;) {
    const ssize_t length = read(from_attacher_, &letter, 1);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0 || letter == '\n') return line;
    line += letter;
  }
}

int AttachedProcess::open_session() const {
  const std::size_t begin = value_of(attached_, "session");
  if (begin == std::string::npos) {
    errno = EPROTO;
    return -1;
  }
  const std::string path = attached_.substr(begin + 1, attached_.find('"', begin + 1) - begin - 1);
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

void AttachedProcess::hand_on(const std::string& library, const std::string& session) {
  const std::string line = "images\t" + library + "\t" + session + "\n";
  if (to_attacher_ < 0) return;
  write_all(to_attacher_, line.data(), line.size());
  read_line();
}

void AttachedProcess::detach() {
  if (to_attacher_ < 0) return;
  close(std::exchange(to_attacher_, -1));
  if (attacher_ > 0 && is_attached()) detached_ = read_line();
  close(std::exchange(from_attacher_, -1));
  while (attacher_ > 0 && waitpid(attacher_, &wait_status_, 0) < 0 && errno == EINTR) {
  }
}

bool AttachedProcess::was_killed() {
  detach();
  return WIFSIGNALED(wait_status_);
}

std::uint64_t AttachedProcess::stopped_ns() const { return number_field_of(attached_, "stopped_ns"); }

std::uint64_t AttachedProcess::seen_monotonic_ns() const { return number_field_of(detached_, "seen_ns"); }

std::uint64_t AttachedProcess::threads() const { return number_field_of(attached_, "threads"); }

std::vector<std::string> AttachedProcess::unseen() const { return texts_field_of(attached_, "notes"); }

std::vector<std::string> AttachedProcess::beside() const { return texts_field_of(attached_, "beside"); }

bool AttachedProcess::has(const std::string& function) const {
  const std::vector<std::string> patched = texts_field_of(attached_, "patched");
  return std::find(patched.begin(), patched.end(), function) != patched.end();
}

std::uint64_t number_field_of(const std::string& json, const std::string& name) {
  const std::size_t begin = value_of(json, name);
  return begin == std::string::npos ? 0 : std::strtoull(json.c_str() + begin, nullptr, 10);
}

std::vector<std::string> texts_field_of(const std::string& json, const std::string& name) {
  std::vector<std::string> texts;
  const std::size_t begin = value_of(json, name);
  if (begin == std::string::npos) return texts;
  const std::size_t end = json.find(']', begin);
  std::size_t at = json.find('"', begin);
  while (at < end) {
    const std::size_t stop = json.find('"', at + 1);
    if (stop == std::string::npos) break;
    texts.push_back(json.substr(at + 1, stop - at - 1));
    at = json.find('"', stop + 1);
  }
  return texts;
}

}  // namespace heapwright::collect
