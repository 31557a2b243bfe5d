#include "collectives/agreed_tuning.hpp"

#include <cstdlib>
#include <type_traits>

#include "collectives/agree.hpp"
#include "collectives/tuning_file.hpp"

namespace tutti {

static_assert(std::is_trivially_copyable_v<Tuning>);

Tuning agreed_tuning(Bootstrap& bootstrap, const std::string& file, bool on_gpu, bool crowded) {
  Tuning tuning = default_tuning(on_gpu, crowded);
  enum class Found : char { nothing, constants, trouble };
  Found mine = Found::nothing;
  std::string trouble;
  if (bootstrap.rank() == 0) {
    const char* const named = std::getenv("TUTTI_TUNING");
    const std::string name = !file.empty() ? file : named ? named : "";
    if (!name.empty()) try {
        tuning = read_tuning_file(name, on_gpu, tuning);
        mine = Found::constants;
      } catch (const Error& error) {
        trouble = error.what();
        mine = Found::trouble;
      }
  }
  // Most sessions have no file: a byte tells so.
  const Found found = bootstrap.all_gather(mine)[0];
  if (found == Found::trouble) agree(bootstrap, ErrorCode::invalid_argument, trouble);
  return found == Found::constants ? bootstrap.all_gather(tuning)[0] : tuning;
}

}  // namespace tutti
