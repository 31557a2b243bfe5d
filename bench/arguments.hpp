// The command line of tutti-bench.
#pragma once
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/sizes.hpp"
#include "collectives/tutti.hpp"

namespace tutti::bench {

enum class MemoryKind { peer_mapped, any };
constexpr const char* name_of(MemoryKind memory) { return memory == MemoryKind::peer_mapped ? "peer-mapped" : "any"; }

/// What is wrong with the arguments and what would be right, in one line.
struct ArgumentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct BenchArguments {
  std::vector<Operation> operations;
  std::vector<BackendKind> backends = {BackendKind::native, BackendKind::mpi};
  std::vector<MemoryKind> memories = {MemoryKind::peer_mapped, MemoryKind::any};
  std::vector<Algorithm> algorithms = {Algorithm::automatic};
  std::vector<bool> in_place = {false};
  SizeRange range;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  int calls = 0;  ///< per batch; 0: as many as fill the time of a batch
  int warm_up = 2;
  int rounds = 15;
  bool check = true;
  bool steady = false;
  std::string json;  ///< file name, or empty

  std::optional<int> ranks;         ///< --ranks of --check-arguments
  bool check_only = false;          ///< --check-arguments: say whether the arguments are good, and end
  std::optional<std::string> help;  ///< the text of -h, if it was asked for
};

/// Reads the arguments (without the program's name). Throws ArgumentError.
BenchArguments parse_bench(const std::vector<std::string>& arguments);

/// The cases of `operation` that `arguments` ask for at `ranks` ranks, one per row of the table, in place or not as
/// said. Sizes that come to the same after trimming are one case; sizes too small for one element per rank are left
/// out.
std::vector<Case> cases_of(const BenchArguments& arguments, Operation operation, int ranks, bool in_place);

/// Bytes of the input and of the output buffer that a rank needs for all cases.
struct BufferBytes {
  std::size_t in = 0, out = 0;
};
BufferBytes buffers_for(const BenchArguments& arguments, int ranks);

/// What can be checked only when the number of ranks is known: root, sizes, memory (`free` bytes of it), the JSON file.
/// Throws ArgumentError.
void check_bench(const BenchArguments& arguments, int ranks, std::size_t free);

}  // namespace tutti::bench
