// The rows of a table of predictions.
#pragma once
#include <functional>
#include <vector>

#include "bench/predict/predict_arguments.hpp"
#include "bench/predict/prediction.hpp"

namespace tutti::predict {

/// One algorithm at one size.
struct Row {
  Question question;
  Prediction prediction;
  std::string refused;   ///< why the algorithm cannot serve the call; then there is no prediction
  bool chosen = false;   ///< `auto` runs this algorithm here
  bool fastest = false;  ///< of those that were predicted for the same call, if there are several
};

/// All rows of one call on one kind of memory.
using Group = std::vector<Row>;

/// What `arguments` ask for, in the order of the table; nothing is predicted yet.
std::vector<Group> groups_of(const PredictArguments& arguments, int ranks);

/// Predicts every row, several at a time on the cores there are, and hands out groups in order as they are complete.
void predict_all(const timed::Machine& machine, std::vector<Group>& groups,
                 const std::function<void(const Group&)>& done);

}  // namespace tutti::predict
