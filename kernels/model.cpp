#include "kernels/model.hpp"

#include <algorithm>

#include "kernels/block_model.hpp"

namespace tutti::model {
namespace {

constexpr std::size_t kFindings = 20;  // more are not kept: one defect shows in many places
constexpr std::size_t kSignals = 64;   // of a flag's past; waits look back by less than the slots
constexpr std::size_t kBlockStack = std::size_t{128} << 10;
constexpr std::size_t kProgramStack = std::size_t{512} << 10;

}  // namespace

const char* name_of(Defect defect) {
  constexpr const char* names[] = {"race", "missing sync", "deadlock", "counts", "stray"};
  return names[static_cast<int>(defect)];
}

Op run(Kernel kernel, const Call& call, int blocks, std::size_t in_bytes, std::size_t out_bytes) {
  return {.name = name_of(kernel),
          .body = [kernel](ModelBlock& block, const Call& c) { run_kernel(kernel, block, c); },
          .call = call,
          .blocks = blocks,
          .in_bytes = in_bytes,
          .out_bytes = out_bytes,
          .collective = kernel != Kernel::send && kernel != Kernel::recv};
}

void ModelRank::call(const std::vector<Op>& ops) {
  Model& m = model_;
  Model::Strand& me = m.strand(rank_, 0, -1);
  const auto caller_uses_buffers = [&] {
    ++me.ordinal;
    for (const Op& op : ops) {
      me.kernel = op.name;
      m.access(me, op.call.in, op.in_bytes, true);
      m.access(me, op.call.out, op.out_bytes, true);
    }
  };
  std::uint64_t& ended = m.ended_[static_cast<std::size_t>(rank_)];
  std::vector<Model::Strand*> blocks;
  caller_uses_buffers();
  ended = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    for (int b = 0; b < ops[i].blocks; ++b) {
      Model::Strand& strand = m.strand(rank_, static_cast<int>(i), b);
      strand.clock.join(me.clock);
      strand.kernel = ops[i].name;
      strand.ordinal = 0;
      strand.call = me.call;
      strand.steps = 0;
      m.start(
          strand,
          [&, b, i] {
            ModelBlock block(m, strand, m.team(rank_), b, ops[i].blocks);
            ops[i].body(block, ops[i].call);
            ++ended;
          },
          kBlockStack);
      blocks.push_back(&strand);
    }
  }
  me.clock.tick(me.number);  // what the caller does next, its blocks have not heard of
  m.await(me, {.flag = &ended, .wanted = blocks.size(), .what = "the end of its blocks"});
  Spent& spent = m.spent_by(me.call++, rank_);
  for (Model::Strand* block : blocks) {
    spent.steps = std::max(spent.steps, block->steps);
    me.clock.join(block->clock);
    block->clock.tick(block->number);
    block->fiber.reset();
  }
  caller_uses_buffers();
  for (const Op& op : ops) m.end_of_call(rank_, op.collective);
}

Model::Model(const Geometry& geometry, std::uint64_t seed)
    : layout_(layout_of(geometry)),
      ended_(static_cast<std::size_t>(geometry.ranks)),
      random_(seed),
      policy_(static_cast<int>(seed % 4)),
      calls_(static_cast<std::size_t>(geometry.ranks)) {
  segments_.reserve(static_cast<std::size_t>(geometry.ranks) * 64);  // teams point to it
  std::vector<char*> arenas;
  for (int r = 0; r < geometry.ranks; ++r)
    arenas.push_back(add_piece(layout_.bytes, "arena of rank " + std::to_string(r), r, true, -1));
  for (int r = 0; r < geometry.ranks; ++r) {
    char* const arena = arenas[static_cast<std::size_t>(r)];
    std::copy(arenas.begin(), arenas.end(), reinterpret_cast<char**>(arena + layout_.arenas));
    for (int member = 0; member < geometry.ranks; ++member)
      reinterpret_cast<int*>(arena + layout_.members)[member] = member;
    teams_.push_back(
        {.arena = arena, .rank = r, .segments = segments_.data(), .segment_ranks = geometry.ranks, .layout = layout_});
  }
}

Model::~Model() {
  // Blocks first: they refer to what stands in the stacks of their programs.
  for (Strand& s : strands_)
    if (s.block >= 0) s.fiber.reset();
}

void Model::set_uses(Region region, std::uint64_t uses) {
  for (const Team& t : teams_)
    for (int b = 0; b < geometry().blocks; ++b) Connections(t, b, 1).uses(region) = uses;
}

std::string Model::report() const {
  std::string text;
  for (const Finding& f : findings_) text += std::string(name_of(f.defect)) + ": " + f.text + "\n";
  for (const std::string& f : failures_) text += "failed: " + f + "\n";
  return text;
}

void Model::find(Defect defect, std::string text) {
  if (findings_.size() < kFindings) findings_.push_back({defect, std::move(text)});
}

void Model::fail(const std::string& text) { failures_.push_back(text); }

std::uint64_t Model::random(std::uint64_t below) {
  // splitmix64
  std::uint64_t x = random_ += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return ((x ^ x >> 31) >> 32) * below >> 32;
}

Model::Strand& Model::strand(int rank, int op, int block) {
  Strand*& found = strand_of_[{rank, op, block}];
  if (!found) {
    found = &strands_.emplace_back();
    found->number = static_cast<int>(strands_.size()) - 1;
    found->rank = rank;
    found->block = block;
    found->clock.tick(found->number);
  }
  return *found;
}

void Model::start(Strand& strand, std::function<void()> body, std::size_t stack_bytes) {
  strand.wait = {};
  strand.priority = random(std::uint64_t{1} << 31);
  strand.fiber = std::make_unique<Fiber>(std::move(body), stack_bytes, Switches::ordered);
  active_.push_back(&strand);
}

bool Model::satisfied(const Wait& wait) {
  if (!wait.flag) return true;
  return wait.tag ? static_cast<std::uint32_t>(*wait.flag) == wait.wanted : *wait.flag >= wait.wanted;
}

/// Who goes on. Seeds differ in how, for each way finds other things: all alike; long runs; fixed ranking, so that some
/// fall far behind; one rank that is late for everything.
Model::Strand* Model::pick() {
  ready_.clear();
  for (Strand* s : active_)
    if (s->given_up || satisfied(s->wait)) ready_.push_back(s);
  if (ready_.empty()) return nullptr;
  if (random(4096) == 0) policy_ = static_cast<int>(random(4));
  const auto any = [&] { return ready_[random(ready_.size())]; };
  if (policy_ == 1 && random(8) != 0 && std::find(ready_.begin(), ready_.end(), last_) != ready_.end()) return last_;
  if (policy_ == 2) {
    if (random(32) == 0) any()->priority = random(std::uint64_t{1} << 31);
    return *std::max_element(ready_.begin(), ready_.end(),
                             [](const Strand* a, const Strand* b) { return a->priority < b->priority; });
  }
  if (policy_ == 3) {
    if (random(256) == 0) late_rank_ = static_cast<int>(random(static_cast<std::uint64_t>(geometry().ranks)));
    for (int i = 0; i < 8; ++i)
      if (Strand* s = any(); s->rank != late_rank_) return s;
  }
  return any();
}

void Model::run(const std::function<void(ModelRank&)>& program) {
  for (int r = 0; r < geometry().ranks; ++r)
    start(
        strand(r, 0, -1),
        [this, r, &program] {
          ModelRank rank(*this, r);
          program(rank);
        },
        kProgramStack);
  while (!active_.empty()) {
    last_ = pick();
    if (!last_) {
      deadlock();
      if (failures_.empty()) return;
      continue;
    }
    last_->fiber->resume();
    if (last_->fiber->done()) std::erase(active_, last_);
  }
  end_of_run();
}

/// Nobody can go on: where a rank has failed, its peers would run out of time.
void Model::deadlock() {
  if (!failures_.empty()) {
    for (Strand* s : active_)
      if (s->block >= 0) s->given_up = true;
    return;
  }
  std::string text;
  for (const Strand* s : active_)
    if (s->block >= 0) text += (text.empty() ? "" : "; ") + text_of(*s) + " waits for " + text_of(s->wait);
  find(Defect::deadlock, text);
}

void Model::pause(Strand& me) {
  // A long run need not go through the scheduler.
  if (policy_ == 1 && random(8) != 0) return;
  me.wait = {};
  Fiber::yield();
}

bool Model::await(Strand& me, const Wait& wait) {
  if (!satisfied(wait)) {
    me.wait = wait;
    Fiber::yield();
    me.wait = {};
  }
  return !me.given_up || satisfied(wait);
}

/// The clock that came with the earliest count that satisfies the wait: no more is certain.
void Model::acquire(Strand& me, const Wait& wait) {
  const std::deque<Published::Signal>& past = published_[wait.flag].signals;
  const auto first = std::lower_bound(past.begin(), past.end(), wait.wanted,
                                      [](const Published::Signal& s, std::uint64_t count) { return s.count < count; });
  if (first == past.end() || (wait.tag && first->count != wait.wanted)) return;
  // The one waited for may be forgotten already; nobody should look back that far.
  if (first == past.begin() && past.size() == kSignals && !wait.tag && first->count > wait.wanted)
    find(Defect::counts,
         text_of(me) + " waits for a count that is more than " + std::to_string(kSignals) + " signals back");
  me.clock.join(first->clock);
  // What earlier calls sent is no step of this one.
  if (wait.wanted > wait.base) me.steps = std::max(me.steps, first->steps + 1);
}

void Model::publish(Strand& me, Clock known, std::uint64_t* flag, std::uint64_t value, bool tag) {
  Published& past = published_[flag];
  if (past.writer < 0) past.writer = me.number;
  const Strand& writer = strands_[static_cast<std::size_t>(past.writer)];
  if (writer.rank != me.rank || writer.block != me.block)
    find(Defect::counts, text_of(me) + " sets a flag that " + who(past.latest) + " set before: a flag has one writer");
  past.latest = mark_of(me, true);
  if (!tag && value <= *flag)
    find(Defect::counts, text_of(me) + " sets a flag from " + std::to_string(*flag) + " to " + std::to_string(value) +
                             ": counts only grow");
  if (tag) past.signals.clear();  // nobody waits for older ones
  if (past.signals.size() == kSignals) past.signals.pop_front();
  past.signals.push_back({tag ? static_cast<std::uint32_t>(value) : value, me.steps, std::move(known)});
  me.clock.tick(me.number);
  *flag = value;
}

Mark Model::mark_of(const Strand& me, bool write) {
  return {.strand = me.number,
          .time = me.clock.of(me.number),
          .ordinal = me.ordinal,
          .word = me.word,
          .write = write,
          .call = static_cast<std::uint32_t>(me.call),
          .step = me.steps,
          .kernel = me.kernel,
          .line = me.line};
}

bool Model::access(Strand& me, const void* at, std::size_t bytes, bool write) {
  if (bytes == 0) return true;
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const Mark now = mark_of(me, write);
  const Unit unit = unit_of(begin);
  if (begin + bytes > unit.end) {
    find(Defect::stray, text_of(now) + " " + std::to_string(bytes) + " bytes at " + text_of(begin, begin + bytes) +
                            ", where only " + std::to_string(unit.end - begin) + " are");
    return false;
  }
  races_.access(
      at, bytes, now, me.clock, [&](const Mark& earlier, const Mark& later, std::uintptr_t from, std::uintptr_t to) {
        find(Defect::race,
             text_of(later) + " " + text_of(from, to) + ", and nothing orders it after " + text_of(earlier) + " it");
      });
  return true;
}

/// Payload crosses from whoever has it to whoever gets it, whichever of them moves it.
void Model::move(const Strand& me, const void* at, std::size_t bytes, bool write) {
  const Piece* const piece = piece_of(reinterpret_cast<std::uintptr_t>(at));
  if (!piece || piece->rank == me.rank) return;
  spent_by(me.call, write ? me.rank : piece->rank).sent += bytes;
  spent_by(me.call, write ? piece->rank : me.rank).received += bytes;
}

Spent& Model::spent_by(std::size_t call, int rank) {
  if (call >= spent_.size()) spent_.resize(call + 1, std::vector<Spent>(static_cast<std::size_t>(geometry().ranks)));
  return spent_[call][static_cast<std::size_t>(rank)];
}

Spent Model::spent(std::size_t call, int rank) const {
  return call < spent_.size() ? spent_[call][static_cast<std::size_t>(rank)] : Spent{};
}

}  // namespace tutti::model
