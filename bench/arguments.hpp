// The command line of tutti-bench.
#pragma once
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/peers/setting.hpp"
#include "bench/sizes.hpp"
#include "collectives/tutti.hpp"

namespace tutti::bench {

enum class MemoryKind { peer_mapped, any };
constexpr const char* name_of(MemoryKind memory) { return memory == MemoryKind::peer_mapped ? "peer-mapped" : "any"; }

/// What is wrong with the arguments and what would be right, in one line.
struct ArgumentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr int kEachRoot = -1;
inline constexpr std::size_t kMostSizes = 1000;

struct BenchArguments {
  std::vector<Operation> operations;
  std::vector<BackendKind> backends;  ///< empty: native, and mpi on CPUs or nccl on GPUs if it can be had
  std::vector<peers::Setting> peers;  ///< libraries that run beside, in processes of their own
  std::vector<MemoryKind> memories = {MemoryKind::peer_mapped, MemoryKind::any};
  std::vector<Algorithm> algorithms = {Algorithm::automatic};  ///< each runs the operations that it exists for
  bool all_algorithms = false;                                 ///< `algorithms` has every one because of "all"
  std::vector<bool> in_place = {false};
  SizeRange range;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;   ///< kEachRoot: every rank in turn
  int calls = 0;  ///< per batch; 0: as many as fill the time of a batch
  int warm_up = 2;
  int rounds = 15;
  int again_seconds = 120;  ///< bound of the longer run of a close race
  bool check = true;
  bool steady = false;
  int graph = 0;        ///< calls in a CUDA graph, 0: none
  bool costs = false;   ///< show steps and wire bytes
  bool bounds = false;  ///< measure and show what a call takes at least
  std::string json;     ///< file name, or empty

  std::optional<int> ranks;         ///< --ranks of --check-arguments
  bool check_only = false;          ///< --check-arguments: say whether the arguments are good, and end
  std::optional<std::string> help;  ///< the text of -h, if it was asked for
};

/// Reads the arguments (without the program's name). Throws ArgumentError.
BenchArguments parse_bench(const std::vector<std::string>& arguments);

}  // namespace tutti::bench
