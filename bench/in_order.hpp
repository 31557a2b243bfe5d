// Printing by several ranks.
#pragma once
#include <string>
#include <vector>

#include "collectives/tutti.hpp"

namespace tutti::bench {

/// Prints what every rank has to say. All members are collective.
class InOrder {
 public:
  /// `arrival`: each rank prints for itself, as soon as it gets there, instead of rank 0 for all of them in rank order.
  InOrder(Session& session, bool arrival) : session_(session), arrival_(arrival) {}
  /// One line of every rank.
  void each(const std::string& line);
  /// One text for all, printed by rank 0 after everything before it.
  void once(const std::string& text);

 private:
  std::vector<std::string> gather(const std::string& mine);
  Session& session_;
  bool arrival_;
};

}  // namespace tutti::bench
