// SPDX-License-Identifier: MIT
#include "attach/inner_allocator.hpp"

#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <set>
#include <string>
#include <vector>

namespace heapwright::attach {
namespace {

using agent::Entry;

class InnerAllocators : public testing::Test {
 protected:
  void define(const std::string& name, std::uint64_t address = 0) {
    table[name] = {address != 0 ? address : next_ += 64, 64, true};
  }

  void define_family(const std::string& prefix) {
    for (const char* name : {"malloc", "calloc", "realloc", "free"}) define(prefix + name);
  }

  std::optional<InnerAllocator> find() const { return find_inner_allocator(memory, table, modules, {}); }

  std::set<Entry> entries() const {
    std::set<Entry> found;
    const auto inner = find();
    if (!inner) return found;
    for (const EntryPoint& point : inner->allocator.points) found.insert(point.entry);
    return found;
  }

  TargetMemory memory{getpid()};
  SymbolTable table;
  std::vector<Module> modules;  // none: a static program

 private:
  std::uint64_t next_ = 0x401000;
};

TEST_F(InnerAllocators, LibcsFamilyNeedsAllItsFunctionsInADynamicProgram) {
  modules.emplace_back();
  EXPECT_FALSE(find());
  for (const char* name : {"malloc", "calloc", "free"}) define(name);
  EXPECT_FALSE(find());
  define("realloc");
  EXPECT_EQ(find()->allocator.name, "the program's own malloc");
}

TEST_F(InnerAllocators, AStaticProgramHasOnlyWhatItCalls) {
  define("malloc");
  EXPECT_FALSE(find());
  define("free");
  EXPECT_EQ(entries(), (std::set<Entry>{Entry::malloc_, Entry::free_}));
}

TEST_F(InnerAllocators, TheProgramsOwnMappingsAreRecordedWhereItHasTheFunctions) {
  for (const char* name : {"malloc", "free", "mmap", "munmap"}) define(name);
  EXPECT_TRUE(entries().contains(Entry::mmap_));
  EXPECT_TRUE(entries().contains(Entry::munmap_));
  EXPECT_FALSE(entries().contains(Entry::mremap_));
}

TEST_F(InnerAllocators, APrefixedFamilyMayLackWhatIsNeverCalled) {
  define("_rjem_malloc");
  EXPECT_FALSE(find());
  define("_rjem_sdallocx");
  EXPECT_EQ(entries(), (std::set<Entry>{Entry::malloc_, Entry::sdallocx_}));
  table.clear();
  for (const char* name : {"mi_malloc_aligned", "mi_free"}) define(name);
  EXPECT_EQ(entries(), (std::set<Entry>{Entry::malloc_aligned_, Entry::free_}));
}

TEST_F(InnerAllocators, WhatIsChosenAtTheStartIsNone) {
  define_family("je_");
  table["je_malloc"].is_function = false;
  EXPECT_FALSE(find());
}

TEST_F(InnerAllocators, APrefixComesBeforeLibcsNames) {
  define_family("");
  EXPECT_EQ(find()->unseen, "");
  define_family("project_je_");
  const auto found = find();
  EXPECT_EQ(found->allocator.points[0].symbol.address, table["project_je_malloc"].address);
  EXPECT_EQ(
      found->unseen,
      "calls to the C library's malloc and free are not seen, only those to project_je_malloc and the like");
}

TEST_F(InnerAllocators, OneFunctionWithBothNamesSeesAll) {
  define_family("mi_");
  for (const char* name : {"malloc", "calloc", "realloc", "free"}) {
    define(name, table[std::string("mi_") + name].address);
  }
  EXPECT_EQ(find()->unseen, "");
}

TEST_F(InnerAllocators, EachFamilyHasItsOwnFurtherNames) {
  define_family("");
  for (const char* name : {"zalloc", "free_size", "mallocx"}) define(name);
  EXPECT_TRUE(entries().contains(Entry::mallocx_));
  EXPECT_FALSE(entries().contains(Entry::zalloc_));
  EXPECT_FALSE(entries().contains(Entry::free_size_));
  define_family("mi_");
  for (const char* name : {"mi_zalloc", "mi_free_size", "mi_mallocx"}) define(name);
  EXPECT_TRUE(entries().contains(Entry::zalloc_));
  EXPECT_TRUE(entries().contains(Entry::free_size_));
  EXPECT_FALSE(entries().contains(Entry::mallocx_));
}

TEST_F(InnerAllocators, OperatorsBesideAPrefixAreNotItsOwn) {
  const auto has_operators = [&] { return entries().contains(Entry::new_); };
  for (const char* name : {"_Znwm", "_ZdlPv"}) define(name);
  define_family("");
  EXPECT_FALSE(has_operators());  // the throwing form alone cannot be patched
  define("_ZnwmRKSt9nothrow_t");
  EXPECT_TRUE(has_operators());
  define_family("je_");
  EXPECT_FALSE(has_operators());
  table.erase("je_malloc");
  define_family("mi_");
  EXPECT_FALSE(has_operators());
  define("mi_new", table["_Znwm"].address);
  EXPECT_TRUE(has_operators());
}

TEST_F(InnerAllocators, ALibrarysAreThoseWithAPrefixOrWithJemallocsOwnNames) {
  const auto names = [&] {
    std::vector<std::string> found;
    for (const Allocator& one : find_allocators_in_library(table, "libfoo.so", {})) found.push_back(one.name);
    return found;
  };
  define_family("");
  EXPECT_TRUE(names().empty()) << "many libraries have a malloc for some purpose";
  define("sdallocx");
  EXPECT_EQ(names(), (std::vector<std::string>{"jemalloc inside libfoo.so (malloc)"}));
  table.clear();
  for (const char* name : {"je_vendor_malloc", "je_vendor_mallocx", "je_vendor_dallocx"}) define(name);
  define("mi_malloc");
  EXPECT_EQ(names(), (std::vector<std::string>{"jemalloc inside libfoo.so (je_vendor_malloc)"}));
  define("mi_free");
  EXPECT_EQ(names(), (std::vector<std::string>{"mimalloc inside libfoo.so (mi_malloc)",
                                               "jemalloc inside libfoo.so (je_vendor_malloc)"}));
}

TEST_F(InnerAllocators, GlibcsFreesAtAThreadsEndAreItsOwn) {
  define_family("");
  define("__malloc_arena_thread_freeres");
  EXPECT_EQ(find()->allocator.own_code_bytes, 0U);
  define("__libc_malloc", table["malloc"].address);
  EXPECT_FALSE(find()->allocator.is_glibc) << "a jemalloc has this name, too";
  define("_int_malloc");
  EXPECT_TRUE(find()->allocator.is_glibc);
  EXPECT_EQ(find()->allocator.own_code, table["__malloc_arena_thread_freeres"].address);
}

extern "C" {
[[gnu::used]] int heapwright_test_malloc() { return 1; }
[[gnu::used]] int heapwright_test_of_no_allocator() { return 2; }
}

TEST(SymbolTables, HaveWhatIsNotExported) {
  const SymbolTable table = read_symbol_table(getpid(), getauxval(AT_ENTRY));
  if (table.empty()) GTEST_SKIP() << "stripped";
  const auto found = table.find("heapwright_test_malloc");
  ASSERT_NE(found, table.end());
  EXPECT_EQ(found->second.address, reinterpret_cast<std::uint64_t>(&heapwright_test_malloc));
  EXPECT_TRUE(found->second.is_function);
  EXPECT_FALSE(table.contains("heapwright_test_of_no_allocator"));
}

TEST(SymbolTables, OfNobodyAreEmpty) { EXPECT_TRUE(read_symbol_table(0, 0).empty()); }

}  // namespace
}  // namespace heapwright::attach
