#include "tests/emulator/runtime/multicast.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "tests/emulator/runtime/errors.hpp"

namespace tutti::emulated {

/// Memory of one GPU at a place; a process that has not mapped it yet opens it as its owner's file.
struct Multicast::Binding {
  bool used;
  std::int32_t gpu, process, file;
  std::uint64_t serial;
  std::size_t offset, bytes, memory_offset;
  std::uint64_t device_of_file, inode;
};

struct Multicast::Control {
  static constexpr std::size_t kMostGpus = 64, kMostBindings = 256;
  pthread_mutex_t mutex;
  std::uint64_t changes;
  std::size_t bytes, wanted, added;
  std::int32_t gpus[kMostGpus];
  Binding bindings[kMostBindings];
};

/// The lock on what all processes see. One that died in it has left nothing half done that another would read.
class Multicast::Locked {
 public:
  explicit Locked(Control& control) : mutex_(control.mutex) {
    if (pthread_mutex_lock(&mutex_) == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
  }
  ~Locked() { pthread_mutex_unlock(&mutex_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

Multicast::Multicast(std::shared_ptr<MemoryFile> file) : file_(std::move(file)) {
  void* place = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, file_->file(), 0);
  require(place != MAP_FAILED, cudaErrorMapBufferObjectFailed);
  control_ = static_cast<Control*>(place);
}

Multicast::~Multicast() {
  {
    // A binding lasts as long as its object, and here ends the last reference of this process to both.
    const Locked lock(*control_);
    for (const auto& [slot, memory] : bound_) control_->bindings[slot].used = false, ++control_->changes;
  }
  while (!views_.empty()) drop_view(views_.begin()->first);
  munmap(control_, sizeof(Control));
}

std::shared_ptr<Multicast> Multicast::create(std::size_t gpus, std::size_t bytes) {
  require(gpus >= 1 && gpus <= Control::kMostGpus, cudaErrorInvalidValue);
  auto file = std::make_shared<MemoryFile>(named_file(sizeof(Control), std::string(kFileName).c_str()));
  std::shared_ptr<Multicast> made(new Multicast(std::move(file)));
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&made->control_->mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  made->control_->bytes = bytes;
  made->control_->wanted = gpus;
  return made;
}

std::shared_ptr<Multicast> Multicast::open(std::shared_ptr<MemoryFile> file) {
  return std::shared_ptr<Multicast>(new Multicast(std::move(file)));
}

std::size_t Multicast::bytes() const { return control_->bytes; }
std::size_t Multicast::gpus() const { return control_->wanted; }

bool Multicast::has(int gpu) const {
  const Locked lock(*control_);
  return std::find(control_->gpus, control_->gpus + control_->added, gpu) != control_->gpus + control_->added;
}

void Multicast::add(int gpu) {
  require(!has(gpu), cudaErrorInvalidValue);
  const Locked lock(*control_);
  require(control_->added < control_->wanted, cudaErrorIllegalState);
  control_->gpus[control_->added++] = gpu;
}

void Multicast::bind(std::size_t offset, const std::shared_ptr<MemoryObject>& memory, std::size_t memory_offset,
                     std::size_t bytes) {
  require(!memory->multicast && has(memory->gpu), cudaErrorInvalidValue);
  require(bytes != 0 && bytes % kMemoryGrain == 0 && offset % kMemoryGrain == 0 && memory_offset % kMemoryGrain == 0,
          cudaErrorInvalidValue);
  require(offset <= control_->bytes && bytes <= control_->bytes - offset && memory_offset <= memory->bytes &&
              bytes <= memory->bytes - memory_offset,
          cudaErrorInvalidValue);
  struct stat facts {};
  require(fstat(memory->file->file(), &facts) == 0, cudaErrorOperatingSystem);
  const std::lock_guard own(mutex_);
  const Locked lock(*control_);
  require(control_->added == control_->wanted, cudaErrorIllegalState);
  std::size_t free = Control::kMostBindings;
  for (std::size_t slot = Control::kMostBindings; slot-- != 0;) {
    const Binding& other = control_->bindings[slot];
    if (!other.used)
      free = slot;
    else
      require(other.gpu != memory->gpu || other.offset >= offset + bytes || offset >= other.offset + other.bytes,
              cudaErrorInvalidValue);
  }
  if (free == Control::kMostBindings)
    give_up(fmt::format("more than {} bindings of one multicast object", Control::kMostBindings));
  control_->bindings[free] = {true,   memory->gpu, getpid(),      memory->file->file(), ++control_->changes,
                              offset, bytes,       memory_offset, facts.st_dev,         facts.st_ino};
  bound_[free] = memory;
}

void Multicast::unbind(int gpu, std::size_t offset, std::size_t bytes) {
  const std::lock_guard own(mutex_);
  const Locked lock(*control_);
  for (std::size_t slot = 0; slot < Control::kMostBindings; ++slot) {
    Binding& each = control_->bindings[slot];
    if (!each.used || each.gpu != gpu || each.offset != offset || each.bytes != bytes) continue;
    each.used = false;
    ++control_->changes;
    bound_.erase(slot);
    return;
  }
  throw Failure(cudaErrorInvalidValue);
}

void Multicast::drop_view(std::size_t slot) {
  const auto found = views_.find(slot);
  munmap(const_cast<std::byte*>(found->second.begin), found->second.bytes);
  views_.erase(found);
}

/// Brings the views up to what is bound. The caller holds both locks.
void Multicast::look_again() {
  if (seen_ == control_->changes) return;
  for (std::size_t slot = 0; slot < Control::kMostBindings; ++slot) {
    const Binding& binding = control_->bindings[slot];
    const auto known = views_.find(slot);
    if (known != views_.end() && (!binding.used || known->second.serial != binding.serial)) drop_view(slot);
    if (!binding.used || views_.contains(slot)) continue;
    const std::string path = fmt::format("/proc/{}/fd/{}", binding.process, binding.file);
    const int opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat facts {};
    const bool there = opened >= 0 && fstat(opened, &facts) == 0 && facts.st_dev == binding.device_of_file &&
                       facts.st_ino == binding.inode;
    void* const place = !there ? MAP_FAILED
                               : mmap(nullptr, binding.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, opened,
                                      static_cast<off_t>(binding.memory_offset));
    if (opened >= 0) close(opened);
    if (place != MAP_FAILED) views_[slot] = {static_cast<const std::byte*>(place), binding.bytes, binding.serial};
  }
  seen_ = control_->changes;
}

std::vector<std::uintptr_t> Multicast::replicas(std::size_t offset, std::size_t bytes) {
  std::vector<std::uintptr_t> found;
  const std::lock_guard own(mutex_);
  const Locked lock(*control_);
  look_again();
  // In the order in which the GPUs were added: sums of floating-point numbers depend on it.
  for (std::size_t index = 0; index < control_->added; ++index)
    for (const auto& [slot, view] : views_) {
      const Binding& binding = control_->bindings[slot];
      if (binding.gpu == control_->gpus[index] && offset - binding.offset < binding.bytes &&
          bytes <= binding.bytes - (offset - binding.offset))
        found.push_back(reinterpret_cast<std::uintptr_t>(view.begin + (offset - binding.offset)));
    }
  return found;
}

}  // namespace tutti::emulated
