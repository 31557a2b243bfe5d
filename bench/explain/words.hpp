// What a move, a wait or a step is called in a sentence.
#pragma once
#include <string>
#include <vector>

#include "bench/explain/recording.hpp"
#include "bench/explain/story.hpp"

namespace tutti::explain {

/// "c0", "c0 c1", "c0-c3"; "c0 of rank 1" where cells are not added up. `cells` are those that move.
std::string names_of(const std::vector<Cell>& cells, bool sums);

/// "rank 1 adds c0: its inbox + its input -> rank 2's inbox". `cells`: what moves, as it is after the move.
std::string text_of(const Action& action, const std::vector<Row>& rows, const std::vector<Cell>& cells, bool sums);

/// "inbox": of a row of cells, and of a place in a trace.
const char* label_of(timed::At::Kind kind);

/// Of a flag: "data" or "credit", for messages too.
const char* kind_of(Purpose purpose);

/// "waits for data from rank 0"; of `enter` and the like what it does. `event` waits.
std::string text_of_wait(const timed::Event& event);

/// What a step's messages are, beyond plain flags; or nothing.
std::string text_of(const std::vector<Message>& messages);

/// "kernels/ring.hpp" and "ring.hpp:55" of a path.
std::string kernel_file(const std::string& path);
std::string line_of(const timed::Event& event);

}  // namespace tutti::explain
