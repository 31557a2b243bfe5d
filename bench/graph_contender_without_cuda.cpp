#include "bench/contender.hpp"
#include "collectives/error.hpp"

namespace tutti::bench {

std::unique_ptr<Contender> graph_contender(Communicator&, Algorithm, int) {
  throw Error(ErrorCode::unsupported, "bench: this tutti was built without CUDA, so it has no CUDA graphs");
}

}  // namespace tutti::bench
