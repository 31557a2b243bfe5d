#include "collectives/agree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tutti {

void agree(Bootstrap& bootstrap, ErrorCode code, const std::string& trouble) {
  struct Report {
    ErrorCode code;
    char text[508];
  };
  Report mine{code, {}};
  std::memcpy(mine.text, trouble.data(), std::min(trouble.size(), sizeof mine.text - 1));
  const auto reports = bootstrap.all_gather(mine);
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    const Report& report = reports[rank];
    if (report.text[0] != '\0') {
      throw Error(report.code, fmt::format("rank {} of {}: {}", rank, reports.size(), report.text));
    }
  }
}

}  // namespace tutti
