// How reports call what happened.
#include "kernels/model.hpp"

namespace tutti::model {

/// Who did it, in which word of which call.
std::string Model::who(const Mark& mark) const {
  const Strand& s = strands_[static_cast<std::size_t>(mark.strand)];
  if (s.block < 0) {
    std::string text = "the caller on rank ";
    return text.append(std::to_string(s.rank))
        .append(", around its ")
        .append(mark.kernel)
        .append(" of call ")
        .append(std::to_string(mark.call));
  }
  std::string text = "rank ";
  text.append(std::to_string(s.rank));
  if (s.communicator->number() > 0) text.append(" of communicator ").append(std::to_string(s.communicator->number()));
  text.append(" block ").append(std::to_string(s.block)).append(" in ").append(mark.kernel);
  text.append(", call ").append(std::to_string(mark.call)).append(", step ").append(std::to_string(mark.step));
  text.append(", word ").append(std::to_string(mark.ordinal)).append(" (").append(name_of(mark.word));
  return text.append(" at ").append(mark.line.text()).append(")");
}

std::string Model::text_of(const Mark& mark) const { return who(mark).append(mark.write ? ", writes" : ", reads"); }

/// ", last set by ...", if anybody has.
std::string Model::last_set(const std::uint64_t* flag) const {
  const auto past = published_.find(flag);
  if (past == published_.end() || past->second.latest.strand < 0) return {};
  return std::string(", last set by ").append(who(past->second.latest));
}

}  // namespace tutti::model
