// SPDX-License-Identifier: MIT
#include "collect_run.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace heapwright::collect::testing {
namespace {

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

CollectRun::CollectRun() {
  std::string pattern = (std::filesystem::temp_directory_path() / "heapwright-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = pattern;
  std::filesystem::create_directory(folder_ / "work");
}

CollectRun::~CollectRun() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

pid_t CollectRun::start_command(const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  const int output = open((folder_ / "output").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int errors = open((folder_ / "errors").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  close(output);
  close(errors);
  if (chdir((folder_ / "work").c_str()) != 0) _exit(126);
  if (file_limit_bytes_ != 0) {
    const rlimit limit{file_limit_bytes_, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  execvp(arguments[0], arguments.data());
  _exit(127);
}

pid_t CollectRun::start(std::vector<std::string> options, std::vector<std::string> command) {
  std::vector<std::string> words{HEAPWRIGHT_TEST_COLLECTOR, "--library", HEAPWRIGHT_TEST_LIBRARY};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return start_command(words);
}

std::string CollectRun::errors() const { return text_of_file(folder_ / "errors"); }

Outcome CollectRun::wait(pid_t process) {
  int status = 0;
  waitpid(process, &status, 0);
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  outcome.output = text_of_file(folder_ / "output");
  outcome.errors = errors();
  return outcome;
}

Outcome CollectRun::run(std::vector<std::string> options, std::vector<std::string> command) {
  return wait(start(std::move(options), std::move(command)));
}

Outcome CollectRun::run_command(const std::vector<std::string>& command) {
  return wait(start_command(command));
}

std::vector<std::string> CollectRun::traces() const {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "work")) {
    if (entry.path().extension() == ".heapwright") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

pid_t only_child_of(pid_t collector) {
  const std::string task = std::to_string(collector);
  const std::string path = "/proc/" + task + "/task/" + task + "/children";
  pid_t child = 0;
  EXPECT_TRUE(wait_until([&] { return bool(std::ifstream(path) >> child); }));
  return child;
}

trace::EventBatch events_of(const trace::Reader& reader, std::uint32_t thread) {
  trace::EventBatch all;
  trace::EventBatch batch;
  trace::DecodeScratch scratch;
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    if (chunk.thread != thread) continue;
    reader.decode(chunk, scratch, batch);
    append(all.kind, batch.kind);
    append(all.alignment_log2, batch.alignment_log2);
    append(all.duration_ns, batch.duration_ns);
    append(all.stack, batch.stack);
    append(all.begin_ns, batch.begin_ns);
    append(all.size, batch.size);
    append(all.usable, batch.usable);
    append(all.address, batch.address);
    append(all.old_address, batch.old_address);
  }
  return all;
}

void expect_numbered(const trace::Reader& reader, std::uint32_t thread, std::uint64_t count) {
  const trace::EventBatch events = events_of(reader, thread);
  ASSERT_EQ(events.count(), count) << "thread " << thread;
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool is_allocation = i % 2 == 0;
    ASSERT_EQ(events.kind[i], is_allocation ? trace::EventKind::malloc_ : trace::EventKind::free_) << i;
    ASSERT_EQ(events.address[i], 16 * (i + 1)) << i;
    ASSERT_EQ(events.size[i], is_allocation ? i : 0) << i;
    ASSERT_EQ(events.usable[i], is_allocation ? i + 8 : 0) << i;
    if (i > 0) {
      ASSERT_GE(events.begin_ns[i], events.begin_ns[i - 1]) << i;
    }
  }
}

}  // namespace heapwright::collect::testing
