// Who goes on, and what happens if nobody can.
#include <algorithm>

#include "kernels/model.hpp"

namespace tutti::model {
namespace {

constexpr std::size_t kProgramStack = std::size_t{512} << 10;

}  // namespace

Strand& Model::strand(Communicator* communicator, int rank, int chain, int block) {
  Strand*& found = strand_of_[{communicator ? communicator->number() : -1, rank, chain, block}];
  if (!found) {
    found = &strands_.emplace_back();
    found->number = static_cast<int>(strands_.size()) - 1;
    found->communicator = communicator;
    found->rank = rank;
    found->session_rank = communicator ? communicator->session_rank(rank) : rank;
    found->block = block;
    found->clock.tick(found->number);
  }
  return *found;
}

void Model::start(Strand& strand, std::function<void()> body, std::size_t stack_bytes) {
  strand.wait = {};
  strand.priority = random(std::uint64_t{1} << 31);
  strand.fiber = std::make_unique<Fiber>(std::move(body), stack_bytes, Switches::ordered);
  ++unfinished_;
  make_ready(strand);
}

void Model::make_ready(Strand& strand) {
  strand.ready_at = ready_.size();
  ready_.push_back(&strand);
}

void Model::park(Strand& strand) {
  ready_[strand.ready_at] = ready_.back();
  ready_[strand.ready_at]->ready_at = strand.ready_at;
  ready_.pop_back();
  strand.ready_at = Strand::kNotReady;
}

/// Those whose wait has come to its end go on.
void Model::wake(Waiters& waiters) {
  std::erase_if(waiters, [this](Strand* s) {
    if (!s->wait.satisfied()) return false;
    make_ready(*s);
    return true;
  });
}

/// Seeds differ in how, for each way finds other things: all alike; long runs; fixed ranking, so that some fall far
/// behind; one rank that is late for everything.
Strand* Model::pick() {
  if (ready_.empty()) return nullptr;
  if (random(4096) == 0) policy_ = static_cast<int>(random(4));
  const auto any = [&] { return ready_[random(ready_.size())]; };
  if (policy_ == 1 && random(8) != 0 && last_ && last_->ready_at != Strand::kNotReady) return last_;
  if (policy_ == 2) {
    if (random(32) == 0) any()->priority = random(std::uint64_t{1} << 31);
    return *std::max_element(ready_.begin(), ready_.end(),
                             [](const Strand* a, const Strand* b) { return a->priority < b->priority; });
  }
  if (policy_ == 3) {
    if (random(256) == 0) late_rank_ = static_cast<int>(random(static_cast<std::uint64_t>(ranks_)));
    for (int i = 0; i < 8; ++i)
      if (Strand* s = any(); s->session_rank != late_rank_) return s;
  }
  return any();
}

void Model::run(const std::function<void(ModelRank&)>& program) {
  for (int r = 0; r < ranks_; ++r) {
    programs_.push_back(&strand(nullptr, r, 0, -1));
    start(
        *programs_.back(),
        [this, r, &program] {
          ModelRank rank(*this, r);
          program(rank);
        },
        kProgramStack);
  }
  while (unfinished_ > 0) {
    last_ = pick();
    if (!last_) {
      if (give_up()) continue;
      return deadlock();
    }
    last_->fiber->resume();
    if (!last_->fiber->done()) continue;
    park(*last_);
    --unfinished_;
    if (last_->block >= 0) block_ended(*last_);
  }
  for (const auto& c : communicators_) c->end_of_run();
}

void Model::pause() {
  // A long run need not go through the scheduler.
  if (policy_ == 1 && random(8) != 0) return;
  Fiber::yield();
}

bool Model::await(Strand& me, const Wait& wait, Waiters& waiters) {
  while (!wait.satisfied() && !me.given_up) {
    me.wait = wait;
    park(me);
    waiters.push_back(&me);
    Fiber::yield();
    me.wait = {};
  }
  return wait.satisfied();
}

bool Model::await(Strand& me, const Wait& wait) {
  return wait.satisfied() || await(me, wait, published_[wait.flag].waiters);
}

/// Nobody can go on. Where a rank has failed, its peers run out of time; false if none has.
bool Model::give_up() {
  if (failures_.empty()) return false;
  bool any = false;
  for (auto& [flag, past] : published_) {
    for (Strand* s : past.waiters) s->given_up = any = true;
    past.waiters.clear();
  }
  for (Strand& s : strands_)
    if (s.given_up && s.fiber && s.ready_at == Strand::kNotReady) make_ready(s);
  return any;
}

}  // namespace tutti::model
