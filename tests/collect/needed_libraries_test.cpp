// SPDX-License-Identifier: MIT
// The witness is the loader itself, asked by ldd.
#include "collect/needed_libraries.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "collect_run.hpp"

namespace heapwright::collect {
namespace {

namespace fs = std::filesystem;

std::string output_of(const std::string& command) {
  std::string text;
  FILE* const pipe = popen(command.c_str(), "r");
  char piece[4096];
  while (pipe != nullptr && fgets(piece, sizeof piece, pipe) != nullptr) text += piece;
  if (pipe != nullptr) pclose(pipe);
  return text;
}

// Without the loader, whose name is the program's own wish.
std::set<std::string> told_by_loader(const std::string& command) {
  std::set<std::string> paths;
  std::istringstream lines(output_of(command));
  std::string line;
  while (std::getline(lines, line)) {
    const std::size_t begin = line.find("=> /");
    if (begin == std::string::npos) continue;
    const std::string path = line.substr(begin + 3, line.find(" (") - begin - 3);
    paths.insert(fs::canonical(path));
  }
  return paths;
}

std::set<std::string> found(const std::string& program, const std::string& library_path) {
  std::set<std::string> paths;
  for (const std::string& path : needed_libraries(program, library_path)) {
    const std::string real = fs::canonical(path);
    if (!fs::path(real).filename().string().starts_with("ld-")) paths.insert(real);
  }
  return paths;
}

TEST(NeededLibraries, AreThoseThatTheLoaderMaps) {
  for (const char* program : {"/bin/ls", "/usr/bin/perl", "/bin/tar", "/usr/bin/gcc"}) {
    if (!fs::exists(program)) continue;
    EXPECT_EQ(found(program, ""), told_by_loader(std::string("ldd ") + program)) << program;
  }
}

// A chain of two libraries in folders that only the file or the environment names.
class NeededLibrariesByFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b"}) fs::create_directories(folder() + "/" + name);
    write("inner.c", "int inner(void) { return 1; }");
    write("outer.c", "int inner(void); int outer(void) { return inner(); }");
    write("main.c", "int outer(void); int main(void) { return outer(); }");
    run("gcc -shared -fPIC inner.c -o b/libinner41.so");
    fs::copy_file(folder() + "/b/libinner41.so", folder() + "/a/libinner41.so");
  }

  std::string folder() const { return run_.folder(); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder() + "/" + name) << text << '\n';
  }

  void run(const std::string& command) {
    ASSERT_EQ(system(("cd " + folder() + " && " + command).c_str()), 0) << command;
  }

  void expect_as_loader(const std::string& library_path) {
    const std::string program = folder() + "/main";
    const auto told = told_by_loader("LD_LIBRARY_PATH=" + library_path + " ldd " + program);
    EXPECT_EQ(found(program, library_path), told);
    EXPECT_EQ(told.size(), 3U) << "with libc";
  }

 private:
  testing::CollectRun run_;
};

TEST_F(NeededLibrariesByFolder, RunpathIsTheFilesOwn) {
  run("gcc -shared -fPIC outer.c -o a/libouter41.so -Lb -linner41 "
      "-Wl,--enable-new-dtags,-rpath,'$ORIGIN/../b'");
  run("gcc main.c -o main -La -louter41 -Wl,-rpath-link,b -Wl,--enable-new-dtags,-rpath,'$ORIGIN/a'");
  expect_as_loader("");
  expect_as_loader(folder() + "/a");
}

TEST_F(NeededLibrariesByFolder, RpathCountsForLibrariesAndBeforeTheEnvironment) {
  run("gcc -shared -fPIC outer.c -o a/libouter41.so -Lb -linner41");
  run("gcc main.c -o main -La -louter41 -Wl,-rpath-link,b "
      "-Wl,--disable-new-dtags,-rpath,'$ORIGIN/b:${ORIGIN}/a'");
  expect_as_loader("");
  expect_as_loader(folder() + "/a");
}

TEST_F(NeededLibrariesByFolder, TheEnvironmentNamesFolders) {
  run("gcc -shared -fPIC outer.c -o a/libouter41.so -Lb -linner41");
  run("gcc main.c -o main -La -louter41 -Wl,-rpath-link,b");
  expect_as_loader(folder() + "/b:" + folder() + "/a");
  EXPECT_EQ(found(folder() + "/main", "").size(), 1U) << "libc alone";
}

TEST_F(NeededLibrariesByFolder, StrippedFilesHaveNoSymbolTable) {
  EXPECT_TRUE(has_symbol_table(folder() + "/b/libinner41.so"));
  run("strip b/libinner41.so");
  EXPECT_FALSE(has_symbol_table(folder() + "/b/libinner41.so"));
  EXPECT_FALSE(has_symbol_table(folder() + "/nothing"));
}

}  // namespace
}  // namespace heapwright::collect
