#include "tests/emulator/runtime/pools.hpp"

#include "tests/emulator/runtime/devices.hpp"

namespace tutti::emulated {

void MemoryPool::add(std::uint64_t bytes) {
  const std::uint64_t now = used_ += bytes;
  std::uint64_t high = used_high_.load();
  while (high < now && !used_high_.compare_exchange_weak(high, now)) {
  }
}

void MemoryPool::set_access(int device, bool reads, bool writes) {
  const std::uint64_t bit = std::uint64_t{1} << device;
  readers_ = reads ? readers_ | bit : readers_ & ~bit;
  writers_ = writes ? writers_ | bit : writers_ & ~bit;
  // What it gave out before follows.
  AllocationTable& table = AllocationTable::instance();
  for (const auto& given : table.all([&](const Allocation& one) { return one.pool.get() == this; })) {
    auto changed = std::make_shared<Allocation>(*given);
    changed->may_read = readers_;
    changed->may_write = writers_;
    table.insert(std::move(changed));
  }
  table.changed();
}

AllocationPointer allocate_from(const std::shared_ptr<MemoryPool>& pool, std::size_t bytes) {
  auto made = std::make_shared<Allocation>(*allocate_on_device(pool->device(), bytes, Allocation::Kind::pool));
  made->pool = pool;
  made->may_read = pool->readers();
  made->may_write = pool->writers();
  pool->add(bytes);
  AllocationTable::instance().insert(made);
  return made;
}

}  // namespace tutti::emulated
