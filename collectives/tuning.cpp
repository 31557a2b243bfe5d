#include "collectives/tuning.hpp"

#include <algorithm>

namespace tutti {

void set_origin(Tuning& tuning, const std::string& origin) {
  tuning.origin.fill('\0');
  std::copy_n(origin.begin(), std::min(origin.size(), tuning.origin.size() - 1), tuning.origin.begin());
}

}  // namespace tutti
