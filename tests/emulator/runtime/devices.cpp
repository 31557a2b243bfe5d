#include "tests/emulator/runtime/devices.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "tests/emulator/runtime/events.hpp"
#include "tests/emulator/runtime/memory.hpp"
#include "tests/emulator/runtime/modules.hpp"
#include "tests/emulator/runtime/settings.hpp"

namespace tutti::emulated {
namespace {

thread_local int current = 0;
std::atomic<bool> forked{false};

std::vector<std::unique_ptr<Device>>* make_devices() {
  const Settings& machine = settings();
  auto* all = new std::vector<std::unique_ptr<Device>>;
  for (const int gpu : machine.visible) all->push_back(std::make_unique<Device>(static_cast<int>(all->size()), gpu));
  // Worker threads do not survive a fork, and neither does a real device.
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
  if (!machine.quiet && rank_of_process() == 0)
    say(fmt::format("emulating {} GPU{} on the CPU: results count, times do not (TUTTI_EMULATION_QUIET=1 hides this)",
                    all->size(), all->size() == 1 ? "" : "s"));
  return all;
}

}  // namespace

Device::Device(int index, int gpu) : index_(index), gpu_(gpu), residency_(settings().multiprocessors) {}

Device::~Device() = default;

void Device::fail(const DeviceFault& fault) {
  {
    std::lock_guard lock(mutex_);
    if (failed_) return;
    failure_ = fault.code();
    failed_.store(true, std::memory_order_release);
  }
  say(fmt::format("device {}: {}: {}", index_, cudaGetErrorName(fault.code()), fault.what()));
}

void Device::require_healthy() const {
  if (failed()) throw Failure(failure_);
}

std::shared_ptr<Stream> Device::create_stream(unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>(*this, Stream::Kind::created, flags, priority);
  std::lock_guard lock(mutex_);
  streams_.push_back(stream);
  return stream;
}

std::shared_ptr<Stream> Device::find_stream(const Stream* stream) const {
  std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(streams_, stream, &std::shared_ptr<Stream>::get);
  return found == streams_.end() ? nullptr : *found;
}

void Device::destroy_stream(Stream& stream) {
  std::lock_guard lock(mutex_);
  // What it was given still runs; the legacy stream must go on waiting for that.
  const auto found = std::ranges::find(streams_, &stream, &std::shared_ptr<Stream>::get);
  if (found == streams_.end()) return;
  std::erase_if(leaving_, [](const Point& point) { return point.stream->ended(point.ticket); });
  leaving_.push_back({*found, stream.given()});
  streams_.erase(found);
  stream.close();
}

std::shared_ptr<Stream> Device::legacy_stream() {
  std::lock_guard lock(mutex_);
  if (!legacy_) legacy_ = std::make_shared<Stream>(*this, Stream::Kind::legacy, cudaStreamDefault, 0);
  return legacy_;
}

std::shared_ptr<Stream> Device::per_thread_stream() {
  std::lock_guard lock(mutex_);
  std::shared_ptr<Stream>& mine = per_thread_[std::this_thread::get_id()];
  if (!mine) {
    mine = std::make_shared<Stream>(*this, Stream::Kind::per_thread, cudaStreamDefault, 0);
    streams_.push_back(mine);
  }
  return mine;
}

Point Device::submit(Stream& stream, Operation operation) {
  std::lock_guard lock(mutex_);
  std::vector<Point> after;
  const auto add = [&](const std::shared_ptr<Stream>& other, std::uint64_t ticket) {
    if (other->blocking() && !other->ended(ticket)) after.push_back({other, ticket});
  };
  if (stream.kind() == Stream::Kind::legacy) {
    for (const auto& other : streams_) add(other, other->given());
    for (const Point& point : leaving_) add(point.stream, point.ticket);
  } else if (stream.blocking() && legacy_) {
    add(legacy_, legacy_->given());
  }
  return stream.push(std::move(operation), std::move(after));
}

std::vector<Point> Device::all_work() {
  std::lock_guard lock(mutex_);
  std::vector<Point> work;
  for (const auto& stream : streams_) work.push_back({stream, stream->given()});
  if (legacy_) work.push_back({legacy_, legacy_->given()});
  work.insert(work.end(), leaving_.begin(), leaving_.end());
  return work;
}

void Device::synchronize() {
  for (const Point& point : all_work()) point.stream->wait(point.ticket);
}

bool Device::take(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > settings().memory - taken_) return false;
  taken_ += bytes;
  return true;
}

void Device::give(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  taken_ -= bytes;
}

std::size_t Device::free_bytes() const {
  std::lock_guard lock(mutex_);
  return settings().memory - taken_;
}

ModuleInstance& Device::instance_of(const FatBinary& binary) {
  // Making one allocates memory, which locks the device.
  std::lock_guard making(instances_mutex_);
  std::unique_ptr<ModuleInstance>& instance = instances_[&binary];
  if (!instance) instance = std::make_unique<ModuleInstance>(binary.module(), index_);
  return *instance;
}

void Device::reset() {
  synchronize();
  {
    std::lock_guard lock(mutex_);
    for (const auto& stream : streams_) stream->close();
    if (legacy_) legacy_->close();
    streams_.clear();
    leaving_.clear();
    per_thread_.clear();
    legacy_.reset();
  }
  forget_events_of(index_);
  {
    std::lock_guard making(instances_mutex_);
    instances_.clear();
  }
  forget_imports_of(index_);
  AllocationTable& table = AllocationTable::instance();
  for (const auto& allocation : table.all([&](const Allocation& one) { return one.device == index_; }))
    if (table.remove(allocation->address)) release(allocation);
  peers_ = 0;
  failed_ = false;
}

std::vector<std::unique_ptr<Device>>& devices() {
  static std::vector<std::unique_ptr<Device>>* const all = make_devices();
  if (forked) throw Failure(cudaErrorInitializationError);
  return *all;
}

Device& device_at(int index) {
  auto& all = devices();
  require(!all.empty(), cudaErrorNoDevice);
  require(index >= 0 && static_cast<std::size_t>(index) < all.size(), cudaErrorInvalidDevice);
  return *all[static_cast<std::size_t>(index)];
}

Device& current_device() { return device_at(current); }
int current_index() { return current; }
void set_current_index(int index) { current = index; }

std::shared_ptr<Stream> stream_of(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return current_device().legacy_stream();
  if (handle == cudaStreamPerThread) return current_device().per_thread_stream();
  for (const auto& device : devices())
    if (auto stream = device->find_stream(reinterpret_cast<const Stream*>(handle))) return stream;
  throw Failure(cudaErrorInvalidResourceHandle);
}

}  // namespace tutti::emulated
