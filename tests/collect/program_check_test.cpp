// SPDX-License-Identifier: MIT
#include "collect/program_check.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "collect/elf_facts.hpp"
#include "collect/unseen_allocators.hpp"
#include "collect_run.hpp"

namespace heapwright::collect {
namespace {

const std::string programs = HEAPWRIGHT_TEST_PROGRAMS;

class ProgramCheckTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes, unsigned mode = 0755) {
    const std::string path = run_.folder() / name;
    std::ofstream(path, std::ios::binary) << bytes;
    chmod(path.c_str(), mode);
    return path;
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  static std::string refusal(const std::string& program) {
    return check_program({program}, "/usr/bin:/bin").refusal;
  }
  std::string folder() const { return run_.folder(); }

 private:
  testing::CollectRun run_;
};

TEST_F(ProgramCheckTest, FindsAProgramThroughPath) {
  const ProgramCheck check = check_program({"ls", "-l"}, "/nonexistent:/bin:/usr/bin");
  EXPECT_EQ(check.refusal, "");
  EXPECT_EQ(check.path, "/bin/ls");
  EXPECT_EQ(check.arguments, (std::vector<std::string>{"ls", "-l"}));
  EXPECT_TRUE(check.executable.ends_with("/bin/ls"));
  EXPECT_TRUE(check.notes.empty());
  EXPECT_FALSE(check.is_starter);
}

TEST_F(ProgramCheckTest, RefusesWhatIsNotThere) {
  EXPECT_EQ(refusal("no-such-program"),
            "there is no program 'no-such-program' in PATH; check the name and PATH");
  EXPECT_EQ(refusal("/no/such"), "there is no program '/no/such'; check the name");
  EXPECT_EQ(refusal("/etc/passwd"), "'/etc/passwd' is not executable; make it so with: chmod +x /etc/passwd");
  EXPECT_EQ(refusal("/tmp"), "'/tmp' is a folder, not a program");
  EXPECT_EQ(refusal("/dev/null"), "'/dev/null' is not a program file");
}

TEST_F(ProgramCheckTest, RefusesStaticPrograms) {
  const std::string path = programs + "/collect_static_program";
  EXPECT_EQ(refusal(path),
            "'" + path +
                "' is linked statically, so no library can be preloaded; record it with --patch, or link it "
                "dynamically (without -static)");
  EXPECT_TRUE(check_program({path}, "").is_static);
  EXPECT_EQ(check_program({path}, "", Way::patched).refusal, "");
  EXPECT_FALSE(check_program({programs + "/collect_sanitized_program"}, "").is_static);
}

TEST_F(ProgramCheckTest, RefusesSanitizedPrograms) {
  const std::string path = programs + "/collect_sanitized_program";
  EXPECT_EQ(refusal(path),
            "'" + path +
                "' is built with AddressSanitizer, which brings its own heap; build it without -fsanitize");
}

TEST_F(ProgramCheckTest, RefusesPrivilegedFiles) {
  const std::string path = write("setuid", bytes_of("/bin/true"), 04755);
  EXPECT_EQ(refusal(path),
            "'" + path +
                "' is setuid or setgid, and the loader ignores preloaded libraries in such programs; "
                "record a copy: cp " +
                path + " ./copy");
  chmod(path.c_str(), 02755);
  EXPECT_TRUE(refusal(path).starts_with("'" + path + "' is setuid or setgid"));
  chmod(path.c_str(), 0755);
  EXPECT_EQ(refusal(path), "");
  const unsigned char net_raw[20] = {1, 0, 0, 2, 0, 0x20};  // VFS_CAP_REVISION_2, effective
  if (setxattr(path.c_str(), "security.capability", net_raw, sizeof net_raw, 0) != 0) {
    GTEST_SKIP() << "may not set capabilities";
  }
  EXPECT_TRUE(refusal(path).starts_with("'" + path + "' is given file capabilities"));
}

TEST_F(ProgramCheckTest, RefusesOtherProcessors) {
  std::string bytes = bytes_of("/bin/true");
  std::string other = bytes;
  other[18] = static_cast<char>(183);  // e_machine: AArch64
  const std::string arm = write("arm", other);
  EXPECT_EQ(refusal(arm), "'" + arm +
                              "' is built for another processor; this heapwright records 64-bit programs for "
                              "x86-64, so build it for that");
  other = bytes;
  other[4] = 1;  // ELFCLASS32
  EXPECT_TRUE(refusal(write("narrow", other)).ends_with("so build it for that"));
}

TEST_F(ProgramCheckTest, NamesAllocatorsItCannotSee) {
  const ProgramCheck rust = check_program({programs + "/collect_jemalloc_program"}, "");
  EXPECT_EQ(rust.refusal, "");
  ASSERT_EQ(rust.notes.size(), 1U);
  EXPECT_EQ(rust.notes[0],
            "'" + programs +
                "/collect_jemalloc_program' has jemalloc linked in statically: calls to it are not seen, "
                "only those to malloc and free; record it with --patch to see these too, or link the "
                "allocator as a shared library");
  EXPECT_TRUE(check_program({programs + "/collect_jemalloc_program"}, "", Way::patched).notes.empty());
  const ProgramCheck own = check_program({programs + "/collect_own_malloc_program"}, "");
  ASSERT_EQ(own.notes.size(), 1U);
  EXPECT_NE(own.notes[0].find("has an allocator linked in statically and calls it directly"),
            std::string::npos);
}

TEST_F(ProgramCheckTest, NamesAllocatorsByPrefixedAndInnerNamesAndTexts) {
  const auto note = [&](const std::string& name) {
    const ProgramCheck check = check_program({programs + "/collect_" + name + "_program"}, "");
    EXPECT_EQ(check.refusal, "");
    return check.notes.empty() ? "" : check.notes[0].substr(check.notes[0].find("' ") + 2);
  };
  EXPECT_TRUE(note("prefixed").starts_with("has jemalloc linked in statically: calls to it are not seen"));
  EXPECT_TRUE(note("aligned").starts_with("has mimalloc linked in statically: calls to it are not seen"));
  EXPECT_TRUE(note("text").starts_with("has jemalloc linked in statically: calls to it are not seen"));
  EXPECT_TRUE(
      note("libcs_own").starts_with("calls __libc_malloc or one like it: calls by these names are not"));
  EXPECT_TRUE(note("rust").starts_with("is a Rust program that calls no malloc"));
}

TEST_F(ProgramCheckTest, AWrapperOfMallocIsNoAllocator) {
  EXPECT_TRUE(check_program({programs + "/collect_wrapper_program"}, "").notes.empty());
}

TEST(InnerAllocators, ArePatchedUnasked) {
  const auto has = [](const ElfFacts& facts) { return has_inner_allocator("/opt/server", facts); };
  EXPECT_TRUE(has({.own_allocator = "jemalloc"}));
  EXPECT_TRUE(has({.own_allocator = "mimalloc"}));
  EXPECT_TRUE(has({.imports_malloc = true, .imports_operators = true, .own_allocator = "jemalloc"}));
  EXPECT_TRUE(has({.defines_malloc = true, .own_allocator = "jemalloc"}));
  // Python has a mimalloc that it uses only if asked to.
  EXPECT_FALSE(has({.imports_malloc = true, .own_allocator = "mimalloc", .runtime = "Python"}));
  EXPECT_FALSE(has({.own_allocator = "snmalloc"}));
  EXPECT_FALSE(has({}));
  EXPECT_FALSE(has({.own_allocator = "jemalloc", .library_name = "libjemalloc.so.2"}));
}

// Attaching patches the malloc that the process uses, wherever it is.
TEST(UnseenAllocators, AProgramsOwnMallocIsSeenOnceAttachedTo) {
  const ElfFacts own{.defines_malloc = true, .own_allocator = "jemalloc"};
  EXPECT_EQ(unseen_in("/bin/a", own, Role::attached_program), "");
  EXPECT_NE(unseen_in("/bin/a", own, Role::program), "");
  const ElfFacts prefixed{.own_allocator = "jemalloc"};
  EXPECT_NE(unseen_in("/bin/a", prefixed, Role::attached_program), "");
}

TEST(UnseenAllocators, ALibraryThatKeepsItsMallocToItselfIsNotSeen) {
  EXPECT_EQ(unseen_in("/lib/a.so", ElfFacts{.defines_malloc = true}, Role::library), "");
  EXPECT_NE(unseen_in("/lib/a.so", ElfFacts{.defines_malloc = true, .hides_malloc = true}, Role::library),
            "");
}

TEST(UnseenAllocators, TheWayOutOfALibraryIsOneThatThereIs) {
  ElfFacts facts{.is_stripped = false, .own_allocator = "jemalloc"};
  const auto says = [&](const char* text) {
    return unseen_in("/lib/a.so", facts, Role::library).find(text) != std::string::npos;
  };
  EXPECT_TRUE(says("record --pid records them"));
  facts.is_stripped = true;
  EXPECT_TRUE(says("keep its symbol table"));
  facts.own_allocator = "rpmalloc";
  EXPECT_TRUE(says("link it as a shared library or preload it"));
}

TEST(UnseenAllocators, ARenamedLibraryIsKnownByItsOwnName) {
  const ElfFacts library{.own_allocator = "jemalloc", .library_name = "libjemalloc.so.2"};
  EXPECT_EQ(unseen_in("/opt/fast.so", library, Role::library), "");
  EXPECT_NE(unseen_in("/opt/fast.so", ElfFacts{.own_allocator = "jemalloc"}, Role::library), "");
}

TEST(UnseenAllocators, ProgramsThatRunAnotherInThemselvesAreNamed) {
  EXPECT_NE(unseen_in("/usr/bin/qemu-x86_64", {}, Role::program), "");
  EXPECT_EQ(unseen_in("/usr/bin/qemu-system-x86_64", {}, Role::program), "");
}

TEST(UnseenAllocators, ARuntimesOwnHeapIsNotedUnlessASettingTurnsItOff) {
  const ElfFacts python{.runtime = "Python"};
  EXPECT_NE(kept_inside("/usr/bin/python3", python, {}), "");
  EXPECT_EQ(kept_inside("/usr/bin/python3", python, {"PYTHONMALLOC\tmalloc"}), "");
  EXPECT_EQ(unseen_in("/usr/bin/python3", python, Role::program), "");
}

TEST(UnseenAllocators, PythonsMimallocIsForItsObjects) {
  const ElfFacts python{.own_allocator = "mimalloc", .runtime = "Python"};
  EXPECT_EQ(unseen_in("/usr/lib/libpython3.13.so.1.0", python, Role::library), "");
  EXPECT_NE(kept_inside("", python, {}).find("512 bytes"), std::string::npos);
  EXPECT_NE(kept_inside("", python, {"PYTHONMALLOC\tmimalloc_debug"}).find("mimalloc"), std::string::npos);
  const ElfFacts free_threaded{.own_allocator = "mimalloc", .runtime = "free-threaded Python"};
  EXPECT_EQ(unseen_in("/usr/lib/libpython3.13t.so.1.0", free_threaded, Role::library), "");
  EXPECT_EQ(kept_inside("", free_threaded, {"PYTHONMALLOC\tmalloc"}),
            "free-threaded Python keeps its objects in a mimalloc of its own: of these the trace has the "
            "mappings, not the objects");
}

TEST_F(ProgramCheckTest, RefusesGoProgramsWithTheirReason) {
  const std::string path = programs + "/collect_go_program";
  EXPECT_EQ(refusal(path), "'" + path +
                               "' is a Go program without C code: the Go runtime's heap makes no heap calls "
                               "that could be recorded; look at it with Go's pprof");
}

TEST_F(ProgramCheckTest, FollowsAnExplicitLoader) {
  const std::string loader = "/lib64/ld-linux-x86-64.so.2";
  if (access(loader.c_str(), R_OK) != 0) GTEST_SKIP() << "there is no " << loader;
  const auto refusal_of = [&](const std::vector<std::string>& words) {
    return check_program(words, "/bin").refusal;
  };
  EXPECT_EQ(refusal_of({loader, "/bin/true"}), "");
  EXPECT_EQ(refusal_of({loader, "--argv0", "/no/file", "--inhibit-cache", "/bin/true", "x"}), "");
  EXPECT_EQ(refusal_of({loader, "--list", "/bin/true"}), "");
  const std::string fixed = programs + "/collect_static_program";
  EXPECT_TRUE(refusal_of({loader, fixed}).starts_with("'" + fixed + "' is linked statically"));
  const std::string tested = programs + "/collect_sanitized_program";
  EXPECT_TRUE(
      refusal_of({loader, "--library-path", "/lib", tested}).starts_with("'" + tested + "' is built"));
}

TEST_F(ProgramCheckTest, FollowsInterpreterLines) {
  const std::string script = write("script", "#!/bin/sh -e\nexit 3\n");
  const ProgramCheck check = check_program({script, "a"}, "/bin");
  EXPECT_EQ(check.refusal, "");
  EXPECT_EQ(check.path, script);
  EXPECT_EQ(check.arguments, (std::vector<std::string>{script, "a"}));
  EXPECT_TRUE(check.is_starter);
  const std::string second = write("second", "#!" + script + "\n");
  EXPECT_EQ(refusal(second), "");
  EXPECT_EQ(refusal(write("lost", "#!/no/such/sh\n")),
            "the interpreter of '" + folder() + "/lost': there is no program '/no/such/sh'; check the name");
  const std::string loop = folder() + "/loop";
  write("loop", "#!" + loop + "\n");
  EXPECT_EQ(refusal(loop), "'" + loop + "': too many nested interpreters; run the innermost one directly");
  EXPECT_TRUE(refusal(write("empty-line", "#!\n")).starts_with("the interpreter of '"));
}

// env itself would be recorded, and the program behind it only as its child.
TEST_F(ProgramCheckTest, StartsTheProgramBehindEnv) {
  const std::string script = write("script", "#!/usr/bin/env -S ls -l -a\n");
  const ProgramCheck check = check_program({script, "x"}, "/bin");
  EXPECT_EQ(check.path, "/bin/ls");
  EXPECT_EQ(check.arguments, (std::vector<std::string>{"ls", "-l", "-a", script, "x"}));
  EXPECT_FALSE(check.is_starter);
  const std::string assigning = write("assigning", "#!/usr/bin/env -S A=1 ls\n");
  EXPECT_EQ(check_program({assigning}, "/bin").path, assigning);
}

TEST_F(ProgramCheckTest, ScriptWithoutInterpreterLineIsRunByTheShell) {
  const std::string script = write("script", "exit 3\n");
  const ProgramCheck check = check_program({script}, "/bin");
  EXPECT_EQ(check.path, "/bin/sh");
  EXPECT_EQ(check.arguments, (std::vector<std::string>{"/bin/sh", script}));
  EXPECT_EQ(refusal(write("data", std::string("\x01\x00\x02", 3))),
            "'" + folder() + "/data' is neither a program nor a script");
}

// Damaged files of all kinds: any answer will do, a crash will not.
TEST_F(ProgramCheckTest, LooksIntoAnyFileWithoutHarm) {
  const std::string bytes = bytes_of(programs + "/collect_sanitized_program");
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    std::string damaged = bytes;
    if (round % 4 == 0) damaged.resize(random() % damaged.size());
    for (int i = 0; i < 20 && !damaged.empty(); ++i) {
      // The headers are where a change tells.
      const std::size_t reach = i % 2 == 0 ? std::min<std::size_t>(damaged.size(), 1024) : damaged.size();
      damaged[random() % reach] = static_cast<char>(i % 3 == 0 ? 0xff : random());
    }
    if (damaged.size() > 4) {
      damaged.replace(0, 4,
                      "\x7f"
                      "ELF");
    }
    check_program({write("damaged", damaged)}, "");
  }
}

}  // namespace
}  // namespace heapwright::collect
