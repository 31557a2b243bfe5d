// From the start of a call to what its caller does after it.
#include <algorithm>

#include "kernels/block_model.hpp"
#include "kernels/model.hpp"

namespace tutti::model {
namespace {

constexpr std::size_t kBlockStack = std::size_t{128} << 10;

}  // namespace

void ModelRank::call(const std::vector<Op>& ops) { call(model_.world(), ops); }
void ModelRank::call(Communicator& communicator, const std::vector<Op>& ops) { wait(start(communicator, ops)); }
Started ModelRank::start(const std::vector<Op>& ops) { return start(model_.world(), ops); }
Started ModelRank::start(Communicator& communicator, const std::vector<Op>& ops) {
  return model_.start(*model_.programs_[static_cast<std::size_t>(rank_)], communicator, ops);
}
void ModelRank::wait(const Started& started) {
  model_.wait(*model_.programs_[static_cast<std::size_t>(rank_)], started);
}

void ModelRank::read(const void* at, std::size_t bytes) {
  Strand& me = *model_.programs_[static_cast<std::size_t>(rank_)];
  ++me.ordinal;
  model_.access(me, at, bytes, Model::Access::read);
}
void ModelRank::write(void* at, std::size_t bytes) {
  Strand& me = *model_.programs_[static_cast<std::size_t>(rank_)];
  ++me.ordinal;
  model_.access(me, at, bytes, Model::Access::write);
}

Started Model::start(Strand& program, Communicator& communicator, const std::vector<Op>& ops) {
  pause();
  ++program.ordinal;
  const int rank = communicator.rank_of(program.session_rank);
  auto running = std::make_unique<Running>();
  running->communicator = &communicator;
  running->rank = rank;
  running->ops = ops;
  Communicator::Calls& calls = communicator.calls_[static_cast<std::size_t>(rank)];
  running->number = calls.started++;
  program.call = running->number;
  for (const Op& op : ops) {
    running->generations.push_back(communicator.generation_of(op, rank));
    program.kernel = op.name;
    if (op.chained) continue;
    // What stood in the output means nothing any more; in place, the input does.
    access(program, op.call.out, op.out_bytes, Access::spoil);
    access(program, op.call.in, op.in_bytes, Access::write);
  }
  running->begin = program.clock;
  program.clock.tick(program.number);  // what the caller does next, its blocks have not heard of
  const bool first = calls.under_way.empty() || calls.under_way.back()->done;
  const Started started{&communicator, running->number};
  calls.under_way.push_back(std::move(running));
  if (first) launch(*calls.under_way.back());
  return started;
}

void Model::launch(Running& running) {
  Communicator& c = *running.communicator;
  const Communicator::Calls& calls = c.calls_[static_cast<std::size_t>(running.rank)];
  for (std::size_t i = 0; i < running.ops.size(); ++i) {
    const Op& op = running.ops[i];
    for (int b = 0; b < op.blocks; ++b) {
      Strand& block = strand(&c, running.rank, static_cast<int>(i), b);
      block.clock.join(running.begin);
      block.clock.join(calls.latest_end);
      block.kernel = op.name;
      block.ordinal = 0;
      block.call = running.number;
      block.generation = running.generations[i];
      block.steps = 0;
      block.running = &running;
      running.blocks.push_back(&block);
      start(
          block,
          [this, &block, &op, &c, b] {
            ModelBlock executor(*this, block, c.team(block.rank), b, op.blocks);
            op.body(executor, op.call);
          },
          kBlockStack);
    }
  }
  if (running.blocks.empty()) finish(running);
}

void Model::block_ended(Strand& block) {
  block.fiber.reset();
  Running& running = *block.running;
  if (++running.ended == running.blocks.size()) finish(running);
}

/// All blocks have ended: the caller may hear of it, and the next call begin.
void Model::finish(Running& running) {
  Communicator& c = *running.communicator;
  Communicator::Calls& calls = c.calls_[static_cast<std::size_t>(running.rank)];
  Spent& spent = c.spent_by(running.number, running.rank);
  running.end = running.begin;
  running.end.join(calls.latest_end);
  for (Strand* block : running.blocks) {
    spent.steps = std::max(spent.steps, block->steps);
    running.end.join(block->clock);
    block->clock.tick(block->number);
    block->running = nullptr;
  }
  calls.latest_end = running.end;
  for (const Op& op : running.ops) c.end_of_call(running, op);
  running.done = 1;
  wake(running.waiters);
  for (const auto& next : calls.under_way)
    if (!next->done) return launch(*next);
}

void Model::wait(Strand& program, const Started& started) {
  Communicator& c = *started.communicator;
  auto& under_way = c.calls_[static_cast<std::size_t>(c.rank_of(program.session_rank))].under_way;
  const auto of_call = [&](std::size_t number) -> Running* {
    for (const auto& running : under_way)
      if (running->number == number) return running.get();
    return nullptr;  // waited for already
  };
  Running* const last = of_call(started.call);
  if (!last) return;
  await(program, {.flag = &last->done, .wanted = 1, .what = "the end of its blocks"}, last->waiters);
  program.clock.join(last->end);
  ++program.ordinal;
  // The caller may look at every output, then do what it likes with all buffers.
  for (const Access what : {Access::read, Access::spoil}) {
    for (const auto& running : under_way) {
      if (running->number > started.call) break;
      program.call = running->number;
      for (const Op& op : running->ops) {
        program.kernel = op.name;
        access(program, op.call.out, op.out_bytes, what);
        if (what == Access::spoil) access(program, op.call.in, op.in_bytes, what);
      }
    }
  }
  while (!under_way.empty() && under_way.front()->number <= started.call) under_way.pop_front();
}

}  // namespace tutti::model
