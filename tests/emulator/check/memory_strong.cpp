// Strong accesses: what they may read, and what they hand on.
#include <algorithm>
#include <cstring>

#include "tests/emulator/check/memory_parts.hpp"
#include "tests/emulator/ptx/arithmetic.hpp"

namespace tutti::emulator {

Granule& CheckedMemory::Parts::touch(const Access& access, Region& at, std::uint64_t address, std::uint8_t mask) {
  Granule& granule = at.granule(address);
  if ((access.bits & kWrite) != 0)
    granule.initialised |= mask;
  else if ((granule.initialised & mask) != mask)
    note_unwritten(access, address);
  if (const Record* other = races.access(granule, mask, access)) fail_race(access, granule, address, mask, *other);
  return granule;
}

Location& CheckedMemory::Parts::location(const Step& now, Granule& granule, std::uint64_t address, std::uint8_t width) {
  bool is_new;
  Location& found = histories.find(granule, address, width, is_new, woken);
  if (is_new)
    if (const NamedRange* range = map.named(address); range && range->kind == NamedRange::Kind::packet) {
      const std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(range->begin);
      if (width != range->unit || offset % range->unit != 0)
        fail(Defect::torn_packet, now.access,
             "scalars of " + std::to_string(width) + " bytes make up " + map.describe(address) + ", whose packets of " +
                 std::to_string(range->unit) + " bytes must be whole");
    }
  return found;
}

std::uint64_t CheckedMemory::Parts::strong_load(const Step& now, Region& at, std::uint64_t address,
                                                std::uint8_t width) {
  const auto mask = static_cast<std::uint8_t>(((1u << width) - 1) << (address & 7));
  Location& from = location(now, touch(now.access, at, address, mask), address, width);
  const Choice choice = histories.choice(from, now.access);
  const auto newest = static_cast<std::uint32_t>(from.count - 1);
  std::uint32_t index = newest;
  ++counts.strong_loads;
  if (choice.oldest < newest && now.state.stale_run < settings.stale_run &&
      static_cast<double>(random() >> 11) * 0x1p-53 < staleness)
    index = choice.oldest + static_cast<std::uint32_t>(random() % (newest - choice.oldest + 1));
  if (index == newest) {
    now.state.stale_run = 0;
  } else {
    ++now.state.stale_run;
    ++counts.stale_loads;
  }
  const Message& message = from.writes[index];
  const bool known = choice.own && choice.own->index == index;
  now.state.last_address = address;
  now.state.last_value = message.value;
  now.state.last_writer = message.step;
  now.state.last_instruction = now.access.instruction;
  note_read(now, from, choice, index);
  take_releases(now, from, message, known);
  note_poll(now, from, known && index == newest);
  return message.value;
}

void CheckedMemory::Parts::note_read(const Step& now, Location& from, const Choice& choice, std::uint32_t index) {
  if (choice.own && choice.own->index == index) {
    if (acquires(now.instruction.order)) choice.own->instruction = now.access.instruction;
  } else if (choice.own && choice.own->time == now.access.time) {
    choice.own->index = index;
    choice.own->instruction = now.access.instruction;
  } else {
    from.seen.push_back({now.access.thread, now.access.time, index, now.access.instruction});
  }
}

void CheckedMemory::Parts::note_poll(const Step& now, Location& from, bool known) {
  ThreadState::Poll& poll = now.state.poll;
  if (!known) {
    poll = {};
    return;
  }
  if (std::find(from.pollers.begin(), from.pollers.end(), now.access.thread) == from.pollers.end())
    from.pollers.push_back(now.access.thread);
  if (poll.address == from.address && poll.instruction == now.access.instruction) poll.closed = true;
  if (++poll.loads < poll.next_mark) return;
  poll.next_mark *= 2;
  poll.address = from.address;
  poll.instruction = now.access.instruction;
}

void CheckedMemory::Parts::take_releases(const Step& now, const Location& from, const Message& message, bool known) {
  const ThreadId id = now.access.thread;
  const auto scope = static_cast<std::uint8_t>(now.access.bits & kScopeBits);
  if (acquires(now.instruction.order)) {
    for (const Release& release : message.releases) threads.acquire(id, scope, release);
    threads.acquire_pending(id, scope, from.address);
  }
  // An acquire may be too narrow for what a later fence is not.
  if (!known)
    for (const Release& release : message.releases)
      if (release.thread != id) threads.read_relaxed(id, from.address, release);
}

/// What who reads this write and acquires comes after: a release of its own; else one that the thread has made on this
/// location; and its fences.
void CheckedMemory::Parts::give_releases(const Step& now, Location& to, Message& message, const VectorClock& released) {
  const auto scope = static_cast<std::uint8_t>(now.access.bits & kScopeBits);
  if (released) {
    message.released_here = true;
    message.releases.push_back({released, now.access.thread, scope});
  } else {
    unsigned found = 0;  // scopes, by their bits
    for (std::size_t k = to.count - 1; k-- > 0;) {
      const Message& earlier = to.writes[k];
      if (!earlier.released_here || earlier.thread != now.access.thread) continue;
      const Release& release = earlier.releases.front();
      if ((found & (1u << release.scope)) == 0) message.releases.push_back(release);
      found |= 1u << release.scope;
    }
  }
  for (std::size_t k = 0; k < now.state.fences.size(); ++k) {
    const std::uint8_t fence_scope = k == 0 ? std::uint8_t{0} : k == 1 ? kGpuScope : kSysScope;
    if (now.state.fences[k] && !(released && fence_scope <= scope))
      message.releases.push_back({now.state.fences[k], now.access.thread, fence_scope});
  }
}

void CheckedMemory::Parts::strong_store(const Step& now, Region& at, std::uint64_t address, std::uint8_t width,
                                        std::uint64_t value, const VectorClock& released) {
  const auto mask = static_cast<std::uint8_t>(((1u << width) - 1) << (address & 7));
  Location& to = location(now, touch(now.access, at, address, mask), address, width);
  if (width < 8) value &= (std::uint64_t{1} << (8 * width)) - 1;
  ++counts.strong_stores;
  give_releases(now, to, histories.append(to, value, now.access), released);
  wake_pollers(to);
  now.state.poll = {};
  tidy(to);
}

std::uint64_t CheckedMemory::Parts::exchange(const Step& now, Region& at, std::uint64_t address, std::uint64_t operand,
                                             std::uint64_t next) {
  const Instruction& i = now.instruction;
  const auto operation = static_cast<AtomicOperation>(i.operation);
  const auto width = static_cast<std::uint8_t>(bytes_of(i.type));
  const auto mask = static_cast<std::uint8_t>(((1u << width) - 1) << (address & 7));
  std::uint64_t old = 0;
  std::memcpy(&old, reinterpret_cast<const void*>(address), width);  // the newest value is what memory holds
  const bool writes =
      operation != AtomicOperation::compare_and_swap || extended(old, i.type) == extended(operand, i.type);
  Step reading = now;
  reading.access.bits &= static_cast<std::uint8_t>(~kWrite);
  Location& to = location(reading, touch(reading.access, at, address, mask), address, width);
  const auto index = static_cast<std::uint32_t>(to.count - 1);
  const Choice choice = histories.choice(to, now.access);
  const bool known = choice.own && choice.own->index == index;
  ++counts.strong_loads;
  now.state.stale_run = 0;
  now.state.last_address = address;
  now.state.last_value = old;
  now.state.last_instruction = now.access.instruction;
  note_read(now, to, choice, index);
  // A reduction without a destination may still be on its way when later instructions are done.
  if (i.to_count != 0) take_releases(now, to, to.newest(), known);
  if (!writes) {
    note_poll(now, to, known);
    return old;
  }
  // The write comes after what the read has acquired.
  Step numbered = now;
  numbered.access.step = ++step;
  touch(numbered.access, at, address, mask);
  std::uint64_t value = apply_atomic(operation, i.type, extended(old, i.type), operand, next);
  if (width < 8) value &= (std::uint64_t{1} << (8 * width)) - 1;
  ++counts.strong_stores;
  const VectorClock released = releases(i.order) ? threads.release(now.access.thread) : VectorClock{};
  Message& message = histories.append(to, value, numbered.access);
  give_releases(numbered, to, message, released);
  pass_releases_on(to.writes[index], message);
  wake_pollers(to);
  now.state.poll = {};
  tidy(to);
  return old;
}

/// Whoever reads what a read-modify-write has written synchronises also with what the write before it released.
void CheckedMemory::Parts::pass_releases_on(const Message& from, Message& to) {
  for (const Release& earlier : from.releases) {
    const auto same = std::find_if(to.releases.begin(), to.releases.end(), [&](const Release& release) {
      return release.scope == earlier.scope &&
             threads.placement(release.thread).block == threads.placement(earlier.thread).block;
    });
    if (same == to.releases.end())
      to.releases.push_back(earlier);
    else
      threads.clocks().join(same->clock, earlier.clock);
  }
}

void CheckedMemory::Parts::wake_pollers(Location& at) {
  woken.insert(woken.end(), at.pollers.begin(), at.pollers.end());
  at.pollers.clear();
}

void CheckedMemory::Parts::tidy(Location& at) {
  if (at.count < at.tidy_at) return;
  auto oldest = static_cast<std::uint32_t>(at.count - 1);
  for (ThreadId id = 0; id < threads.count(); ++id) {
    if (!threads.placement(id).live) continue;
    const Access anything{id, threads[id].time, 0, step, 0, &threads[id].known, nullptr};
    oldest = std::min(oldest, histories.choice(at, anything).oldest);
  }
  Histories::forget_before(at, oldest);
}

}  // namespace tutti::emulator
