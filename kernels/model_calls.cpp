// From the start of a call to what its caller does after it.
#include <algorithm>
#include <set>

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
  Communicator::Calls& calls = communicator.calls_[static_cast<std::size_t>(rank)];
  Running& running = *calls.under_way.emplace_back(std::make_unique<Running>());
  running.communicator = &communicator;
  running.rank = rank;
  running.number = program.call = calls.started++;
  running.ops = ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = ops[i];
    const int chain = op.collective ? 0 : (op.sends ? 1 : 2) + 2 * op.call.peer;
    running.launches.push_back({&running, i, chain, communicator.generation_of(op, rank), {}, 0});
    program.kernel = op.name;
    if (op.chained) continue;
    // What stood in the output means nothing any more; in place, the input does.
    access(program, op.call.out, op.out_bytes, Access::spoil);
    access(program, op.call.in, op.in_bytes, Access::write);
  }
  running.begin = running.end = program.clock;
  program.clock.tick(program.number);  // what the caller does next, its blocks have not heard of
  const Started started{&communicator, running.number};
  if (ops.empty()) running.done = 1;
  for (Launch& launch : running.launches) {
    auto& queue = calls.chains[launch.chain].launches;
    queue.push_back(&launch);
    if (queue.size() == 1) begin(launch);
  }
  return started;
}

void Model::begin(Launch& launch) {
  const Running& running = *launch.running;
  Communicator& c = *running.communicator;
  const Op& op = running.ops[launch.op];
  const Clock& before = c.calls_[static_cast<std::size_t>(running.rank)].chains[launch.chain].end;
  for (int b = 0; b < op.blocks; ++b) {
    Strand& block = strand(&c, running.rank, launch.chain, b);
    block.clock.join(running.begin);
    block.clock.join(before);
    block.kernel = op.name;
    block.ordinal = 0;
    block.call = running.number;
    block.generation = launch.generation;
    block.steps = 0;
    block.launch = &launch;
    launch.blocks.push_back(&block);
    start(
        block,
        [this, &block, &op, &c, b] {
          ModelBlock executor(*this, block, c.team(block.rank), b, op.blocks);
          op.body(executor, op.call);
        },
        kBlockStack);
  }
}

void Model::block_ended(Strand& block) {
  block.fiber.reset();
  Launch& launch = *block.launch;
  if (++launch.ended == launch.blocks.size()) end(launch);
}

/// All blocks have ended: the caller may hear of it, and the next of the chain begin.
void Model::end(Launch& launch) {
  Running& running = *launch.running;
  Communicator& c = *running.communicator;
  auto& chain = c.calls_[static_cast<std::size_t>(running.rank)].chains[launch.chain];
  Spent& spent = c.spent_by(running.number, running.rank);
  chain.end.join(running.begin);
  for (Strand* block : launch.blocks) {
    spent.steps = std::max(spent.steps, block->steps);
    chain.end.join(block->clock);
    block->clock.tick(block->number);
    block->launch = nullptr;
  }
  running.end.join(chain.end);
  c.end_of_call(running, running.ops[launch.op]);
  chain.launches.pop_front();
  if (++running.ended == running.launches.size()) {
    running.done = 1;
    wake(running.waiters);
  }
  if (!chain.launches.empty()) begin(*chain.launches.front());
}

void Model::wait(Strand& program, const Started& started) {
  Communicator& c = *started.communicator;
  auto& under_way = c.calls_[static_cast<std::size_t>(c.rank_of(program.session_rank))].under_way;
  const auto found = std::find_if(under_way.begin(), under_way.end(),
                                  [&](const auto& running) { return running->number == started.call; });
  if (found == under_way.end()) return;  // waited for already
  Running& last = **found;
  await(program, {.flag = &last.done, .wanted = 1, .what = "the end of its blocks"}, last.waiters);
  program.clock.join(last.end);
  ++program.ordinal;
  // Earlier calls whose chains are all of this one have ended too.
  std::set<int> chains;
  for (const Launch& launch : last.launches) chains.insert(launch.chain);
  const auto ended = [&](const Running& running) {
    return &running == &last || (running.number < last.number && !running.launches.empty() &&
                                 std::all_of(running.launches.begin(), running.launches.end(),
                                             [&](const Launch& launch) { return chains.count(launch.chain) != 0; }));
  };
  // The caller may look at every output, then do what it likes with all buffers.
  for (const Access what : {Access::read, Access::spoil}) {
    for (const auto& running : under_way) {
      if (!ended(*running)) continue;
      program.call = running->number;
      for (const Op& op : running->ops) {
        program.kernel = op.name;
        access(program, op.call.out, op.out_bytes, what);
        if (what == Access::spoil) access(program, op.call.in, op.in_bytes, what);
      }
    }
  }
  std::erase_if(under_way, [&](const auto& running) { return &*running != &last && ended(*running); });
  std::erase_if(under_way, [&](const auto& running) { return running->number == started.call; });
}

}  // namespace tutti::model
