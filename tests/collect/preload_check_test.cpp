// SPDX-License-Identifier: MIT
#include "collect/preload_check.hpp"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace heapwright::collect {
namespace {

class PreloadCheck : public ::testing::Test {
 protected:
  PreloadCheck() : file_(mkstemp(path_)) {}
  ~PreloadCheck() override {
    close(file_);
    unlink(path_);
  }

  void write_header(std::uint16_t machine) const {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = machine;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    ASSERT_EQ(pwrite(file_, &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
  }
  std::string reason(std::uint32_t user_id) const { return why_never(path_, 0, user_id); }

  char path_[32] = "/tmp/preload_check_XXXXXX";
  int file_;
};

TEST_F(PreloadCheck, AnotherProcessorsProgram) {
  write_header(EM_AARCH64);
  EXPECT_EQ(reason(getuid()), "it is not a 64-bit program for x86-64");
}

TEST_F(PreloadCheck, SetuidSaysNothingToItsOwner) {
  ASSERT_EQ(fchmod(file_, 04755), 0);
  EXPECT_EQ(reason(getuid()), "");
  EXPECT_NE(reason(getuid() + 1).find("setuid"), std::string::npos);
}

TEST_F(PreloadCheck, AScriptIsWhatItsInterpreterIs) {
  const std::string script = path_ + std::string(".script");
  write_header(EM_AARCH64);
  const int file = open(script.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
  const std::string line = std::string("#!") + path_ + " -e\n";
  ASSERT_EQ(write(file, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  close(file);
  EXPECT_EQ(why_never(script, 0, getuid()), "it is not a 64-bit program for x86-64");
  unlink(script.c_str());
}

}  // namespace
}  // namespace heapwright::collect
