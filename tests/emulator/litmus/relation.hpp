// A relation between the events of one execution.
#pragma once
#include <array>
#include <cassert>
#include <cstdint>

namespace tutti::emulator::litmus {

/// A set of events: bit i for event i.
using EventSet = std::uint64_t;

class Relation {
 public:
  static constexpr int kMostEvents = 64;

  explicit Relation(int events) : events_(events) { assert(events <= kMostEvents); }

  int events() const { return events_; }
  void add(int from, int to) { rows_[at(from)] |= EventSet{1} << to; }
  void remove(int from, int to) { rows_[at(from)] &= ~(EventSet{1} << to); }
  bool has(int from, int to) const { return (rows_[at(from)] >> to & 1) != 0; }
  /// What comes after an event.
  EventSet& row(int from) { return rows_[at(from)]; }
  EventSet row(int from) const { return rows_[at(from)]; }

  Relation& operator|=(const Relation& other) {
    for (int i = 0; i < events_; ++i) rows_[at(i)] |= other.rows_[at(i)];
    return *this;
  }
  Relation& operator&=(const Relation& other) {
    for (int i = 0; i < events_; ++i) rows_[at(i)] &= other.rows_[at(i)];
    return *this;
  }

  void close_transitively() {
    for (int middle = 0; middle < events_; ++middle)
      for (int from = 0; from < events_; ++from)
        if (has(from, middle)) rows_[at(from)] |= rows_[at(middle)];
  }
  bool irreflexive() const {
    for (int i = 0; i < events_; ++i)
      if (has(i, i)) return false;
    return true;
  }
  /// Removes, round by round, the events that nothing comes after; what stays is a cycle.
  bool acyclic() const {
    EventSet left = events_ == kMostEvents ? ~EventSet{0} : (EventSet{1} << events_) - 1;
    for (bool removed = true; removed && left != 0;) {
      removed = false;
      for (int i = 0; i < events_; ++i) {
        if ((left >> i & 1) != 0 && (rows_[at(i)] & left) == 0) {
          left &= ~(EventSet{1} << i);
          removed = true;
        }
      }
    }
    return left == 0;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int events_;
  std::array<EventSet, kMostEvents> rows_{};
};

}  // namespace tutti::emulator::litmus
