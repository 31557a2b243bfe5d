// One step of a story as a part of a picture: ranks side by side, their rows below each other, arrows between.
#pragma once
#include <string>
#include <vector>

#include "bench/explain/story.hpp"

namespace tutti::explain {

class Panel {
 public:
  explicit Panel(const Story& story);

  int width() const { return width_; }
  int height() const { return height_; }
  /// Whether there is something to see: moves, or, of a story without rows, flags.
  bool shows(const Step& step) const;
  /// What arrows need, once in a picture.
  std::string definitions() const;
  /// Of the step with that index; -1: before the call.
  std::string draw(int index) const;

 private:
  struct Point {
    double x = 0, y = 0;
  };
  struct Box {
    double x = 0, y = 0, width = 0, height = 0;
  };

  void lay_out();
  bool sums_below() const;
  Box box_of(const Cells& cells) const;
  double bottom_of(const Cells& cells) const;
  std::string cells_of(int index) const;
  std::string cell(int row, int number, const Cell& cell, bool fresh, bool old) const;
  std::string action(const Action& action, int chunk) const;
  std::string curve(Point from, Point to, bool down, const std::string& look) const;
  std::string flags(const Step& step) const;
  bool needed(int row, int number, int index) const;
  int chunk_of(const Action& action, int index) const;

  const Story& story_;
  double gap_;  // between rows
  int width_ = 0, height_ = 0;
  std::vector<double> left_, right_;     // [rank]
  std::vector<std::string> labels_;      // of rows, from the top
  std::vector<double> tops_, bottoms_;   // [label]
  std::vector<std::vector<Box>> boxes_;  // [row][cell]
};

}  // namespace tutti::explain
