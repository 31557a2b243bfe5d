#include "kernels/model_words.hpp"

#include <cstring>

namespace tutti::model {

const char* name_of(Word word) {
  constexpr const char* names[] = {"copy",         "reduce",      "enter",        "leave",
                                   "signal",       "wait",        "advance_sent", "advance_received",
                                   "advance_uses", "put_packets", "get_packets",  "reduce_packets",
                                   "wipe_packets", "offer",       "accept",       "sync",
                                   "lane_to",      "lane_from",   "caller"};
  return names[static_cast<int>(word)];
}

const char* name_of(Purpose purpose) {
  constexpr const char* names[kPurposes] = {"data", "credit", "enter", "leave", "p2p_data", "p2p_credit"};
  return names[static_cast<int>(purpose)];
}

Line::Line(const std::source_location& at) : file(at.file_name()), number(at.line()) {
  if (const char* const slash = std::strrchr(file, '/')) file = slash + 1;
}

std::string Line::text() const { return std::string(file).append(":").append(std::to_string(number)); }

}  // namespace tutti::model
