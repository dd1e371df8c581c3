// SPDX-License-Identifier: MIT
#include "unwind/call_frame_rules.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <random>
#include <vector>

#include "unwind/signal_frame.hpp"

namespace heapwright::unwind {
namespace {

// An object whose code is [code, code + 256) and whose tables describe it with
// one FDE. It ends at an unreadable page.
class TestObject {
 public:
  static constexpr std::uint64_t page_bytes = 4096;
  static constexpr std::uint64_t code_bytes = 256;

  TestObject() {
    memory_ = static_cast<std::uint8_t*>(
        mmap(nullptr, 3 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_, page_bytes, PROT_NONE);
    mprotect(memory_ + 2 * page_bytes, page_bytes, PROT_NONE);
  }
  ~TestObject() { munmap(memory_, 3 * page_bytes); }
  TestObject(const TestObject&) = delete;

  // Lays the tables out so that their last byte is the object's last.
  void write(const std::vector<std::uint8_t>& program, bool is_signal_frame = false) {
    std::vector<std::uint8_t> bytes(header_bytes);
    const std::size_t cie = bytes.size();
    append_entry(bytes, 0, common_information(is_signal_frame));
    const std::size_t fde = bytes.size();
    std::vector<std::uint8_t> body(9);  // first pc, size, no augmentation data
    body.insert(body.end(), program.begin(), program.end());
    append_entry(bytes, static_cast<std::uint32_t>(fde + 4 - cie), body);
    tables_ = memory_ + 2 * page_bytes - bytes.size();
    size_bytes_ = bytes.size();
    code_ = reinterpret_cast<std::uint64_t>(memory_) + page_bytes;
    const auto table_address = reinterpret_cast<std::uint64_t>(tables_);
    put(bytes, 0, 0x3b031b01);  // version 1; pcrel sdata4, udata4, datarel sdata4
    put(bytes, 4, static_cast<std::uint32_t>(cie - 4));
    put(bytes, 8, 1);
    put(bytes, 12, static_cast<std::uint32_t>(code_ - table_address));
    put(bytes, 16, static_cast<std::uint32_t>(fde));
    put(bytes, fde + 8, static_cast<std::uint32_t>(code_ - table_address - fde - 8));
    put(bytes, fde + 12, code_bytes);
    std::memcpy(tables_, bytes.data(), bytes.size());
  }

  ObjectTables object() const {
    return {code_, code_ + page_bytes, reinterpret_cast<std::uint64_t>(tables_)};
  }
  // The same as a segment of an object that leaves a gap after it.
  ObjectTables before_a_gap() {
    segment_ = {};
    segment_.p_type = PT_LOAD;
    segment_.p_vaddr = page_bytes;
    segment_.p_memsz = page_bytes;
    ObjectTables tables = object();
    tables.end += 512 * page_bytes;
    tables.bias = code_ - page_bytes;
    tables.headers = &segment_;
    tables.header_count = 1;
    return tables;
  }
  std::uint64_t code() const { return code_; }
  std::uint8_t* tables() { return tables_; }
  std::size_t size_bytes() const { return size_bytes_; }
  Rule rule_at(std::uint64_t offset, bool is_exact) const {
    return evaluate_rule(object(), code_ + offset, is_exact);
  }

 private:
  static constexpr std::size_t header_bytes = 20;
  Elf64_Phdr segment_{};

  static void put(std::vector<std::uint8_t>& bytes, std::size_t at, std::uint32_t value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  static void append_entry(std::vector<std::uint8_t>& bytes, std::uint32_t id,
                           const std::vector<std::uint8_t>& body) {
    const std::size_t at = bytes.size();
    bytes.resize(at + 8);
    put(bytes, at, static_cast<std::uint32_t>(body.size() + 4));
    put(bytes, at + 4, id);
    bytes.insert(bytes.end(), body.begin(), body.end());
  }
  // CFA = RSP + 8, return address at CFA - 8.
  static std::vector<std::uint8_t> common_information(bool is_signal_frame) {
    std::vector<std::uint8_t> body{1, 'z', 'R'};
    if (is_signal_frame) body.push_back('S');
    const std::uint8_t rest[] = {0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1};
    body.insert(body.end(), rest, rest + sizeof rest);
    return body;
  }

  std::uint8_t* memory_;
  std::uint8_t* tables_ = nullptr;
  std::size_t size_bytes_ = 0;
  std::uint64_t code_ = 0;
};

constexpr std::uint8_t advance(std::uint8_t delta) { return static_cast<std::uint8_t>(0x40 | delta); }

TEST(CallFrameRules, PrologueOfAFrameWithFramePointer) {
  TestObject object;
  // push rbp at 1; mov rsp, rbp at 4; leave at 60.
  object.write({advance(1), 0x0e, 16, 0x86, 2, advance(3), 0x0d, 6, advance(56), 0x0c, 7, 8, 0xc6});
  const Rule at_entry = object.rule_at(0, true);
  EXPECT_EQ(at_entry.type(), RuleType::rsp_offset);
  EXPECT_EQ(at_entry.cfa_offset(), 8);
  EXPECT_EQ(at_entry.rbp_source(), RbpSource::unchanged);
  const Rule after_push = object.rule_at(1, true);
  EXPECT_EQ(after_push.cfa_offset(), 16);
  EXPECT_EQ(after_push.rbp_source(), RbpSource::cfa_slot);
  EXPECT_EQ(after_push.rbp_offset(), -16);
  const Rule in_body = object.rule_at(20, false);
  EXPECT_EQ(in_body.type(), RuleType::rbp_offset);
  EXPECT_EQ(in_body.cfa_offset(), 16);
  EXPECT_EQ(object.rule_at(60, false).type(), RuleType::rbp_offset);
  EXPECT_EQ(object.rule_at(60, true).type(), RuleType::rsp_offset);
  EXPECT_EQ(object.rule_at(60, true).rbp_source(), RbpSource::unchanged);
}

TEST(CallFrameRules, LastCallOfAFunctionBelongsToIt) {
  TestObject object;
  object.write({0x0e, 32});
  EXPECT_EQ(object.rule_at(TestObject::code_bytes, false).cfa_offset(), 32);
  EXPECT_EQ(object.rule_at(TestObject::code_bytes, true).type(), RuleType::unfollowable);
}

TEST(CallFrameRules, StackMadeByHandEnds) {
  TestObject object;
  object.write({});
  EXPECT_EQ(object.rule_at(0, false).type(), RuleType::end);
  EXPECT_EQ(object.rule_at(0, true).type(), RuleType::rsp_offset);
}

TEST(CallFrameRules, RememberAndRestore) {
  TestObject object;
  object.write({0x0e, 48, 0x0a, advance(4), 0x0e, 8, advance(4), 0x0b});
  EXPECT_EQ(object.rule_at(2, true).cfa_offset(), 48);
  EXPECT_EQ(object.rule_at(5, true).cfa_offset(), 8);
  EXPECT_EQ(object.rule_at(9, true).cfa_offset(), 48);
}

TEST(CallFrameRules, PltStub) {
  TestObject object;
  object.write({0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
  for (std::uint64_t offset = 0; offset < 32; ++offset) {
    const Rule rule = object.rule_at(offset, true);
    EXPECT_EQ(rule.type(), RuleType::rsp_offset);
    EXPECT_EQ(rule.cfa_offset(), ((object.code() + offset) & 15) >= 11 ? 16 : 8);
  }
}

TEST(CallFrameRules, RealignedFrame) {
  TestObject object;
  object.write({0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0});
  const Rule rule = object.rule_at(10, false);
  EXPECT_EQ(rule.type(), RuleType::rbp_load);
  EXPECT_EQ(rule.cfa_offset(), -8);
  EXPECT_EQ(rule.rbp_source(), RbpSource::rbp_slot);
  EXPECT_EQ(rule.rbp_offset(), 0);
}

TEST(CallFrameRules, EndsAndUnknowns) {
  TestObject object;
  object.write({0x07, 16});
  EXPECT_EQ(object.rule_at(10, false).type(), RuleType::end);
  object.write({0x0c, 3, 0});  // CFA = RBX
  EXPECT_EQ(object.rule_at(10, false).type(), RuleType::unfollowable);
  object.write({0x90, 2});  // return address elsewhere
  EXPECT_EQ(object.rule_at(10, false).type(), RuleType::unfollowable);
  object.write({0x3f});
  EXPECT_EQ(object.rule_at(10, false).type(), RuleType::unfollowable);
}

TEST(CallFrameRules, SignalFrame) {
  TestObject object;
  static_assert(signal_frame_rsp_offset == 160);
  object.write({0x0f, 4, 0x77, 0xa0, 0x01, 0x06}, true);
  EXPECT_EQ(object.rule_at(10, false).type(), RuleType::signal_frame);
}

// Nothing outside the object is read: its neighbours are unreadable pages.
TEST(CallFrameRules, DamagedTablesAreSurvived) {
  TestObject object;
  std::mt19937 random(5);
  for (int round = 0; round < 200'000; ++round) {
    object.write({advance(1), 0x0e, 16, 0x86, 2, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0, 0x0a, 0x0b});
    for (unsigned change = random() % 4; change < 4; ++change) {
      object.tables()[random() % object.size_bytes()] = static_cast<std::uint8_t>(random());
    }
    const std::uint64_t offset = random() % TestObject::code_bytes;
    const bool is_exact = (random() & 1) != 0;
    const Rule rule = object.rule_at(offset, is_exact);
    ASSERT_NE(rule.type(), RuleType::not_evaluated);
    const Rule same = evaluate_rule(object.before_a_gap(), object.code() + offset, is_exact);
    ASSERT_EQ(same.bits(), rule.bits());
  }
}

}  // namespace
}  // namespace heapwright::unwind
