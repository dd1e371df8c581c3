// SPDX-License-Identifier: MIT
#include "collect/session_memory.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>

#include "collect/proc_files.hpp"

namespace heapwright::collect {

using session::Control;
using session::ProcessBlock;

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t first_pages_bytes = page_bytes * session::max_processes;
// state_of() and recycle() access the block's own fields through its first page.
static_assert(offsetof(ProcessBlock, pcs) == page_bytes);

void* map_shared(int file, std::uint64_t offset, std::size_t bytes, void* at = nullptr) noexcept {
  const int flags = MAP_SHARED | MAP_NORESERVE | (at != nullptr ? MAP_FIXED : 0);
  void* memory = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, file, static_cast<off_t>(offset));
  return memory == MAP_FAILED ? nullptr : memory;
}

pthread_mutex_t* mutex_of(session::CollectorLife& life) noexcept {
  static_assert(sizeof(pthread_mutex_t) <= sizeof life);
  return reinterpret_cast<pthread_mutex_t*>(&life);
}

// From here to the end of the calling thread.
void hold_life(session::CollectorLife& life) noexcept {
  pthread_mutexattr_t robust;
  pthread_mutexattr_init(&robust);
  pthread_mutexattr_setpshared(&robust, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(mutex_of(life), &robust);
  pthread_mutexattr_destroy(&robust);
  pthread_mutex_lock(mutex_of(life));
}

[[noreturn]] void fail(const std::string& what, int error_number) {
  throw SessionError(what + " (" + std::strerror(error_number) + ")");
}

}  // namespace

int SessionMemory::make_file() {
  const int file = memfd_create("heapwright", MFD_CLOEXEC);
  if (file < 0) {
    fail("cannot make shared memory; heapwright needs Linux 3.17 or later with memfd_create allowed", errno);
  }
  return file;
}

SessionMemory::SessionMemory(int file) : file_(file) {
  if (ftruncate(file_, static_cast<off_t>(session::session_bytes)) != 0) {
    fail("cannot make a sparse shared file of 17 TiB; raise the file size limit (ulimit -f unlimited)",
         errno);
  }
  void* control = map_shared(file_, 0, session::control_bytes);
  void* pages =
      mmap(nullptr, first_pages_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ProcessBlock* trial = control == nullptr || pages == MAP_FAILED ? nullptr : map_block(0);
  if (trial == nullptr) {
    fail("cannot map the recording's memory; raise the address space limit (ulimit -v unlimited)", errno);
  }
  unmap_block(trial);
  control_ = new (control) Control{};
  hold_life(control_->collector_life);
  control_->magic = session::magic;
  control_->layout_bytes = sizeof(ProcessBlock) / page_bytes;
  control_->pid_namespace = pid_namespace_of("self");
  first_pages_ = static_cast<unsigned char*>(pages);
  door_ = std::make_unique<SessionDoor>(file_);
}

SessionMemory::~SessionMemory() {
  door_.reset();
  control_->is_recording.store(0, std::memory_order_relaxed);
  control_->is_closed.store(1, std::memory_order_release);
  pthread_mutex_unlock(mutex_of(control_->collector_life));
  munmap(control_, session::control_bytes);
  munmap(first_pages_, first_pages_bytes);
  close(file_);
}

std::string SessionMemory::text() const {
  struct stat status {};
  fstat(file_, &status);
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_) + ":" + door_->text() + ":" +
         std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

std::uint64_t SessionMemory::inode() const noexcept {
  struct stat status {};
  fstat(file_, &status);
  return status.st_ino;
}

bool SessionMemory::show_blocks(std::uint32_t count) noexcept {
  for (; shown_blocks_ < count && shown_blocks_ < session::max_processes; ++shown_blocks_) {
    void* page = first_pages_ + std::size_t{shown_blocks_} * page_bytes;
    if (map_shared(file_, session::process_offset(shown_blocks_), page_bytes, page) == nullptr) return false;
  }
  return true;
}

ProcessBlock* SessionMemory::first_page_of(std::uint32_t index) const noexcept {
  return reinterpret_cast<ProcessBlock*>(first_pages_ + std::size_t{index} * page_bytes);
}

std::uint32_t SessionMemory::state_of(std::uint32_t index) const noexcept {
  return first_page_of(index)->state.load(std::memory_order_acquire);
}

ProcessBlock* SessionMemory::map_block(std::uint32_t index) noexcept {
  return static_cast<ProcessBlock*>(map_shared(file_, session::process_offset(index), sizeof(ProcessBlock)));
}

void SessionMemory::unmap_block(ProcessBlock* block) noexcept { munmap(block, sizeof(ProcessBlock)); }

void SessionMemory::recycle(std::uint32_t index) noexcept {
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(session::process_offset(index) + page_bytes),
            static_cast<off_t>(sizeof(ProcessBlock) - page_bytes));
  ProcessBlock* block = first_page_of(index);
  constexpr std::size_t after_state = offsetof(ProcessBlock, process_id);
  std::memset(reinterpret_cast<unsigned char*>(block) + after_state, 0, page_bytes - after_state);
  block->state.store(session::process_unused, std::memory_order_release);
}

}  // namespace heapwright::collect
