// One run of a schedule: which blocks are there, and what their threads wait for.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/emulator/check/schedule.hpp"
#include "tests/emulator/check/schedule_policy.hpp"
#include "tests/emulator/check/schedule_ready.hpp"
#include "tests/emulator/machine/machine.hpp"

namespace tutti::emulator {

class ScheduleRun {
 public:
  ScheduleRun(CheckedMemory& memory, std::span<const Stream> streams, const ScheduleSettings& settings,
              std::uint64_t seed);
  ScheduleResult run();

 private:
  enum class Waits : std::uint8_t { not_at_all, at_barrier, at_warp, polls, done };
  struct StreamRun {
    std::size_t work = 0;              // of Stream::work
    std::vector<std::uint64_t> order;  // blocks of the launch, as they begin
    std::uint64_t begun = 0;           // of them
    std::uint32_t first_id = 0;
    std::uint32_t threads_per_block = 0;
    std::vector<std::unique_ptr<Block>> active;
    bool launched = false;
  };

  const Launch& launch(std::size_t stream) const { return streams_[stream].work[states_[stream].work].launch; }
  bool finished(std::size_t stream) const { return states_[stream].work == streams_[stream].work.size(); }
  void advance();                    // begins and ends works and blocks as far as that is possible
  bool advance(std::size_t stream);  // whether anything was done
  void admit(std::size_t stream);
  void step();
  void after(Thread& thread, Stop why);
  void make_ready(std::uint32_t thread);
  void wait(Thread& thread, Waits why);
  void wake_others(Thread& thread);
  void end_block(Block& block, std::size_t stream);
  void nobody_is_ready();
  void progressed() { rounds_ = 0, barren_ = 0; }
  [[noreturn]] void hang() const;
  void describe_block(const Block& block, std::string& text, int& lines) const;

  CheckedMemory& memory_;
  std::span<const Stream> streams_;
  const ScheduleSettings& settings_;
  Machine<CheckedMemory> machine_;
  Policy policy_;
  ReadyThreads ready_;
  std::vector<StreamRun> states_;
  std::vector<Thread*> threads_;               // by id; null: not running
  std::vector<Waits> waits_;                   // by id
  std::vector<std::uint8_t> waiting_in_warp_;  // by id of the warp's first thread
  std::map<int, std::uint64_t> resident_;      // blocks, by device
  std::uint64_t switches_ = 0, strong_stores_ = 0;
  std::uint32_t rounds_ = 0;  // times that all who poll were let go, since anything happened
  std::uint64_t barren_ = 0;  // switches since then
};

}  // namespace tutti::emulator
