// The peers by name. Open MPI is best with another setting for each size, so that its best is a race of several.
#include "bench/peers/setting.hpp"

#include <algorithm>

namespace tutti::bench::peers {
namespace {

std::vector<std::string> open_mpi(std::vector<std::string> parameters = {}) {
  std::vector<std::string> command = {"mpirun.openmpi", "--oversubscribe", "--bind-to", "none"};
  for (std::size_t i = 0; i + 1 < parameters.size(); i += 2)
    command.insert(command.end(), {"--mca", parameters[i], parameters[i + 1]});
  return command;
}

std::vector<Setting> make_all() {
  const std::string open = "tutti-peer-openmpi", package = "libopenmpi-dev";
  const std::vector<std::string> ring_of_large_eager = {
      "coll_tuned_use_dynamic_rules", "1",     "coll_tuned_allreduce_algorithm", "4",
      "btl_vader_eager_limit",        "65536", "btl_vader_max_send_size",        "131072"};
  return {
      {"openmpi", open, open_mpi(), package},
      {"openmpi-ucx", open, open_mpi({"pml", "ucx", "opal_common_ucx_tls", "any", "opal_common_ucx_devices", "any"}),
       package},
      {"openmpi-nonoverlapping", open,
       open_mpi({"coll_tuned_use_dynamic_rules", "1", "coll_tuned_allreduce_algorithm", "2"}), package},
      {"openmpi-eager-ring", open, open_mpi(ring_of_large_eager), package},
      {"openmpi-sm", open, open_mpi({"coll_sm_priority", "100", "coll_sm_fragment_size", "65536"}), package},
      {"mpich", "tutti-peer-mpich", {"mpirun.mpich"}, "libmpich-dev"},
      {"gloo", "tutti-peer-gloo", {}, "libgloo-dev"},
  };
}

}  // namespace

const std::vector<Setting>& known_peers() {
  static const std::vector<Setting> all = make_all();
  return all;
}

std::vector<Setting> peers_named(const std::vector<std::string>& names) {
  std::vector<Setting> found;
  for (const std::string& name : names) {
    bool is_known = false;
    for (const Setting& setting : known_peers()) {
      const bool named = name == setting.name;
      if (!named && !(name == "openmpi-best" && setting.name.starts_with("openmpi"))) continue;
      is_known = true;
      const auto before =
          std::find_if(found.begin(), found.end(), [&](const Setting& s) { return s.name == setting.name; });
      Setting& chosen = before != found.end() ? *before : found.emplace_back(setting);
      chosen.named = chosen.named || named;
    }
    if (!is_known) return {};
  }
  return found;
}

}  // namespace tutti::bench::peers
