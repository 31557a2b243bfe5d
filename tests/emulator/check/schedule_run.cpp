#include "tests/emulator/check/schedule_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tests/emulator/check/report.hpp"

namespace tutti::emulator {
namespace {

/// Switches without a strong store, a barrier or an end, after which threads that never stop polling hang. Several
/// times what 4096 threads need to come to a barrier.
constexpr std::uint64_t kMostBarren = 1'000'000;

}  // namespace

ScheduleRun::ScheduleRun(CheckedMemory& memory, std::span<const Stream> streams, const ScheduleSettings& settings,
                         std::uint64_t seed)
    : memory_(memory), streams_(streams), settings_(settings), machine_(memory), policy_(seed, streams.size()) {
  std::vector<CheckedMemory::StreamShape> shapes;
  for (const Stream& stream : streams) {
    CheckedMemory::StreamShape shape{stream.rank, stream.device, 1, 1, 0};
    for (const Work& work : stream.work) {
      if (work.host) continue;
      shape.blocks = std::max(shape.blocks, static_cast<std::uint32_t>(work.launch.grid.product()));
      shape.threads = std::max(shape.threads, static_cast<std::uint32_t>(work.launch.block.product()));
    }
    shapes.push_back(shape);
  }
  memory.begin_run(seed, shapes);
  std::uint32_t threads = 0;
  for (const auto& shape : shapes) {
    StreamRun& state = states_.emplace_back();
    state.first_id = shape.first_id;
    state.threads_per_block = shape.threads;
    threads = shape.first_id + shape.blocks * shape.threads + 1;
  }
  ready_.reset(streams.size(), threads);
  threads_.assign(threads, nullptr);
  waits_.assign(threads, Waits::done);
  waiting_in_warp_.assign(threads, 0);
}

ScheduleResult ScheduleRun::run() {
  for (advance(); ready_.total() != 0 || std::any_of(threads_.begin(), threads_.end(), [](Thread* t) { return t; });)
    if (ready_.total() != 0)
      step();
    else
      nobody_is_ready();
  for (std::size_t s = 0; s < streams_.size(); ++s)
    if (!finished(s)) hang();
  memory_.tell_pending();
  return {machine_.executed(), switches_, policy_.name()};
}

void ScheduleRun::step() {
  const std::uint32_t id = policy_.pick(ready_);
  Thread& thread = *threads_[id];
  ++switches_;
  if (++barren_ > kMostBarren) hang();
  const Stop why = machine_.run(thread, settings_.endless);
  after(thread, why);
}

void ScheduleRun::after(Thread& thread, Stop why) {
  const std::size_t stream = ready_.stream(thread.id);
  const bool wrote = memory_.counts().strong_stores != strong_stores_;
  strong_stores_ = memory_.counts().strong_stores;
  if (wrote) progressed();
  policy_.ran(thread.id, stream, wrote);
  switch (why) {
    case Stop::budget:
      memory_.tell_pending();
      throw Found(Defect::endless_loop,
                  fmt::format("{}: {} instructions without a strong access, a barrier or an end; {}",
                              name_of(Defect::endless_loop), settings_.endless, memory_.describe(thread)));
    case Stop::access:
    case Stop::sleep:
      if (memory_.polls(thread.id)) wait(thread, Waits::polls);
      break;
    case Stop::waits: wait(thread, thread.state == Thread::State::at_warp ? Waits::at_warp : Waits::at_barrier); break;
    case Stop::done:
      memory_.end_thread(thread);
      wait(thread, Waits::done);
      break;
  }
  wake_others(thread);
  if (why != Stop::done) return;
  progressed();
  threads_[thread.id] = nullptr;
  if (thread.block->done()) {
    end_block(*thread.block, stream);
    advance();
  }
}

void ScheduleRun::wait(Thread& thread, Waits why) {
  ready_.remove(thread.id);
  waits_[thread.id] = why;
  if (why == Waits::at_warp) ++waiting_in_warp_[thread.id - thread.lane()];
}

void ScheduleRun::make_ready(std::uint32_t id) {
  if (waits_[id] == Waits::at_warp) --waiting_in_warp_[id - threads_[id]->lane()];
  waits_[id] = Waits::not_at_all;
  std::size_t stream = states_.size() - 1;
  while (states_[stream].first_id > id) --stream;
  ready_.add(id, stream);
}

/// Those whom the thread has let go on: by a store, at a barrier, in its warp.
void ScheduleRun::wake_others(Thread& thread) {
  for (const std::uint32_t id : memory_.woken()) {
    memory_.let_poll(id);
    if (threads_[id] && waits_[id] == Waits::polls) make_ready(id);
  }
  memory_.woken().clear();
  const auto go_on = [this](const Thread& other, Waits from) {
    if (waits_[other.id] == from && other.state == Thread::State::ready) make_ready(other.id);
  };
  for (Block* const block : memory_.released()) {
    progressed();
    for (const Thread& other : block->threads()) go_on(other, Waits::at_barrier);
  }
  memory_.released().clear();
  if (waiting_in_warp_[thread.id - thread.lane()] != 0)
    for (const Thread& other : thread.block->warp(thread)) go_on(other, Waits::at_warp);
}

void ScheduleRun::end_block(Block& block, std::size_t stream) {
  memory_.end_block(static_cast<int>(stream), block);
  --resident_[streams_[stream].device];
  std::erase_if(states_[stream].active, [&](const auto& active) { return active.get() == &block; });
}

void ScheduleRun::advance() {
  // A work that ends lets the next begin; a block that ends makes room on the device for those of any stream.
  for (bool again = true; again;) {
    again = false;
    for (std::size_t s = 0; s < streams_.size(); ++s) again |= advance(s);
  }
}

bool ScheduleRun::advance(std::size_t stream) {
  StreamRun& state = states_[stream];
  if (finished(stream)) return false;
  const Work& work = streams_[stream].work[state.work];
  if (work.host) {
    progressed();
    work.host(static_cast<int>(stream));
    ++state.work;
    return true;
  }
  if (!state.launched) {
    memory_.begin_launch(static_cast<int>(stream), work.launch);
    state.launched = true;
    state.begun = 0;
    state.order.resize(work.launch.grid.product());
    std::iota(state.order.begin(), state.order.end(), std::uint64_t{0});
    // CUDA promises no order. Where all begin at once it makes no difference.
    if (settings_.resident != 0) policy_.shuffle(state.order);
  }
  admit(stream);
  if (!state.active.empty() || state.begun != state.order.size()) return false;
  memory_.end_launch(static_cast<int>(stream));
  state.launched = false;
  ++state.work;
  return true;
}

/// Begins blocks of the stream's launch while the device has room.
void ScheduleRun::admit(std::size_t stream) {
  StreamRun& state = states_[stream];
  const Launch& from = launch(stream);
  std::uint64_t& resident = resident_[streams_[stream].device];
  for (; state.begun != state.order.size(); ++state.begun) {
    if (settings_.resident != 0 && resident >= settings_.resident) return;
    const std::uint64_t n = state.order[state.begun];
    const Dim3 index{static_cast<std::uint32_t>(n % from.grid.x),
                     static_cast<std::uint32_t>(n / from.grid.x % from.grid.y),
                     static_cast<std::uint32_t>(n / (std::uint64_t{from.grid.x} * from.grid.y))};
    const auto first_id = state.first_id + static_cast<std::uint32_t>(n) * state.threads_per_block;
    const auto multiprocessor = static_cast<std::uint32_t>(resident % from.multiprocessors);
    state.active.push_back(std::make_unique<Block>(from, index, first_id, multiprocessor));
    Block& block = *state.active.back();
    memory_.begin_block(static_cast<int>(stream), block);
    ++resident;
    for (Thread& thread : block.threads()) {
      threads_[thread.id] = &thread;
      make_ready(thread.id);
    }
  }
}

void ScheduleRun::nobody_is_ready() {
  if (++rounds_ > settings_.patience) hang();
  for (std::uint32_t id = 0; id < threads_.size(); ++id)
    if (threads_[id] && waits_[id] == Waits::polls) {
      memory_.let_poll(id);
      make_ready(id);
    }
  if (ready_.total() == 0) hang();
}

void ScheduleRun::hang() const {
  memory_.tell_pending();
  std::string text;
  int lines = 0;
  bool too_few = false;
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    for (const auto& block : states_[s].active) describe_block(*block, text, lines);
    if (finished(s) || !states_[s].launched) continue;
    const std::uint64_t blocks = launch(s).grid.product(), begun = states_[s].begun;
    if (begun == blocks) continue;
    too_few = true;
    text += fmt::format("\n  rank {}: {} of the {} blocks of {} have not begun: the device holds {} at once",
                        streams_[s].rank, blocks - begun, blocks, launch(s).function->name, settings_.resident);
  }
  const Defect defect = too_few ? Defect::too_few_residents : Defect::hang;
  throw Found(defect, fmt::format("{}: nobody can go on{}", name_of(defect), text));
}

/// One line for all threads that wait in the same way at the same instruction.
void ScheduleRun::describe_block(const Block& block, std::string& text, int& lines) const {
  constexpr int kMostLines = 40;
  struct Group {
    const Thread* first;
    std::uint32_t count;
  };
  std::map<std::pair<const Instruction*, Waits>, Group> groups;
  for (const Thread& thread : block.threads()) {
    if (thread.state == Thread::State::done) continue;
    const Waits why = waits_[thread.id];
    const auto [group, is_new] = groups.try_emplace({&thread.instruction(), why}, Group{&thread, 0});
    ++group->second.count;
    // Threads that poll are few, and each waits for something else.
    if (is_new || why != Waits::polls) continue;
    if (lines++ < kMostLines)
      text += fmt::format("\n  {} polls: it read {}", memory_.describe(thread), memory_.last_read(thread));
  }
  for (const auto& [key, group] : groups) {
    if (lines++ >= kMostLines) continue;
    const std::string where = memory_.describe(*group.first);
    switch (key.second) {
      case Waits::polls:
      case Waits::not_at_all:
      case Waits::done: text += fmt::format("\n  {} polls: it read {}", where, memory_.last_read(*group.first)); break;
      case Waits::at_barrier:
        text += fmt::format("\n  {} and {} more of its block wait at barrier {}", where, group.count - 1,
                            group.first->barrier);
        break;
      case Waits::at_warp:
        text += fmt::format("\n  {} and {} more wait for lanes {:#010x} of their warp", where, group.count - 1,
                            group.first->mask);
        break;
    }
  }
}

}  // namespace tutti::emulator
