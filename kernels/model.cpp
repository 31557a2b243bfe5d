#include "kernels/model.hpp"

#include <numeric>

namespace tutti::model {
namespace {

constexpr std::size_t kFindings = 20;  // more are not kept: one defect shows in many places

std::vector<int> all_of(int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

const char* name_of(Defect defect) {
  constexpr const char* names[] = {"race", "missing sync", "deadlock", "counts", "stray", "unwritten", "overwritten"};
  return names[static_cast<int>(defect)];
}

Model::Model(const Geometry& geometry, std::uint64_t seed)
    : ranks_(geometry.ranks), memory_(geometry.ranks), random_(seed), policy_(static_cast<int>(seed % 4)) {
  communicator(all_of(ranks_), geometry);
}

Model::~Model() {
  // Blocks first: what they run may stand in the stacks of their programs.
  for (Strand& s : strands_)
    if (s.block >= 0) s.fiber.reset();
}

Communicator& Model::communicator(std::vector<int> members, const Geometry& geometry) {
  const int number = static_cast<int>(communicators_.size());
  return *communicators_.emplace_back(std::make_unique<Communicator>(*this, number, geometry, std::move(members)));
}

void Model::omit(std::function<bool(const WordAt&)> which) {
  if (!which) return hook({});
  hook([which = std::move(which)](const WordAt& at) { return Verdict{.nothing = which(at)}; });
}

std::string Model::report() const {
  std::string text;
  for (const Finding& f : findings_) text.append(name_of(f.defect)).append(": ").append(f.text).append("\n");
  for (const std::string& f : failures_) text.append("failed: ").append(f).append("\n");
  return text;
}

void Model::find(Defect defect, std::string text) {
  if (findings_.size() < kFindings) findings_.push_back({defect, std::move(text)});
}

void Model::find(const Conflict& c, const Mark& now) {
  std::string text = text_of(now);
  text.append(" ").append(text_of(c.begin, c.end));
  switch (c.kind) {
    case Conflict::Kind::unordered:
      text.append(", and nothing orders it after ").append(text_of(c.earlier)).append(" it");
      return find(Defect::race, std::move(text));
    case Conflict::Kind::unwritten:
      if (c.earlier.strand < 0)
        text.append(", which nobody has written");
      else if (c.earlier.spoils)
        text.append(", which nobody has written since ").append(who(c.earlier)).append(", spoilt it");
      else
        text.append(", which nobody has written in this call; in another ").append(text_of(c.earlier)).append(" it");
      return find(Defect::unwritten, std::move(text));
    case Conflict::Kind::overwritten:
      text.append(", which nobody has read since ").append(text_of(c.earlier)).append(" it");
      return find(Defect::overwritten, std::move(text));
  }
}

void Model::fail(const std::string& text) { failures_.push_back(text); }

std::uint64_t Model::random(std::uint64_t below) {
  // splitmix64
  std::uint64_t x = random_ += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return ((x ^ x >> 31) >> 32) * below >> 32;
}

Mark Model::mark_of(const Strand& me, bool write) {
  return {.strand = me.number,
          .time = me.clock.of(me.number),
          .ordinal = me.ordinal,
          .word = me.word,
          .write = write,
          .call = static_cast<std::uint32_t>(me.call),
          .generation = me.generation,
          .step = me.steps,
          .kernel = me.kernel,
          .line = me.line};
}

/// False if the access is to none of the memory that it may be to.
bool Model::access(Strand& me, const void* at, std::size_t bytes, Access access) {
  if (bytes == 0) return true;
  const auto begin = reinterpret_cast<std::uintptr_t>(at), end = begin + bytes;
  Mark now = mark_of(me, access != Access::read);
  me.accessed = now.time;
  now.spoils = access == Access::spoil;
  const Unit unit = memory_.unit_of(begin);
  if (end > unit.end) {
    find(Defect::stray, text_of(now) + " " + std::to_string(bytes) + " bytes at " + text_of(begin, end) +
                            ", where only " + std::to_string(unit.end - begin) + " are");
    return false;
  }
  conflicts_.clear();
  unit.history->access(begin, end, now, me.clock, unit.contents(), conflicts_);
  for (const Conflict& c : conflicts_) {
    // After a failure, blocks leave undone what others then miss.
    if (c.kind == Conflict::Kind::unordered || failures_.empty()) find(c, now);
  }
  return true;
}

/// Payload crosses from whoever has it to whoever gets it, whichever of them moves it.
void Model::move(const Strand& me, const void* at, std::size_t bytes, bool write) {
  const Piece* const piece = memory_.piece_of(at);
  if (!piece || piece->rank == me.session_rank) return;
  Communicator& c = *me.communicator;
  const int other = c.rank_of(piece->rank);
  if (other < 0) return;
  c.spent_by(me.call, write ? me.rank : other).sent += bytes;
  c.spent_by(me.call, write ? other : me.rank).received += bytes;
}

void Model::move_by_switch(const Strand& me, std::size_t bytes, bool write) {
  Communicator& c = *me.communicator;
  Spent& mine = c.spent_by(me.call, me.rank);
  (write ? mine.sent : mine.received) += bytes;
  for (int r = 0; r < c.size(); ++r) {
    Spent& its = c.spent_by(me.call, r);
    (write ? its.received : its.sent) += bytes;
  }
}

}  // namespace tutti::model
