// The command line of tutti-bench: every input works as documented or is refused in one line.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/algorithms.hpp"
#include "bench/cases.hpp"
#include "bench/lineup.hpp"

namespace tutti::bench {
namespace {

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> result;
  for (std::string word; in >> word;) result.push_back(word);
  return result;
}

constexpr std::size_t kPlenty = std::size_t{1} << 40;

// What is said about the arguments; empty if they are good.
std::string refusal(const std::vector<std::string>& arguments, int ranks = 2, std::size_t free = kPlenty) {
  try {
    check_bench(parse_bench(arguments), ranks, free);
    return "";
  } catch (const ArgumentError& error) {
    return error.what();
  }
}

std::string refusal(const std::string& line, int ranks = 2, std::size_t free = kPlenty) {
  return refusal(words(line), ranks, free);
}

std::vector<std::size_t> sizes(const std::string& line, Operation operation, int ranks) {
  std::vector<std::size_t> result;
  for (const Case& c : cases_of(parse_bench(words(line)), operation, ranks, false)) result.push_back(c.bytes);
  return result;
}

TEST(BenchArguments, OfTheDocumentationAreAccepted) {
  for (const char* line : {
           "all_reduce",
           "all",
           "all_reduce -b 8 -e 64M -f 2 --backend native,mpi --memory peer-mapped,any --algorithm auto",
           "all_reduce,all_gather -b 64M -e 70M -i 2M",
           "sendrecv -n 20 -w 0 -c 0",
           "broadcast -r 1 -d half --steady --rounds 5",
           "reduce_scatter -o avg --in-place both -f 1.5",
           "reduce,gather,scatter,all_to_all -e 1M",
           "alltoall --in-place both",
           "gather -r all --algorithm all --costs",
           "reduce --root 1 --algorithm auto,tree",
           "all_reduce --algorithm packets,one_shot,two_shot,ring,tree,recursive_doubling,halving_doubling",
           "all --algorithm ring,pairwise",
           "barrier --algorithm dissemination",
           "barrier",
           "all_reduce -b 128M",
       })
    EXPECT_EQ(refusal(line), "") << line;
}

TEST(BenchArguments, ThatAreWrongAreRefusedInOneLineThatNamesThem) {
  const std::pair<const char*, const char*> table[] = {
      {"", "which collective"},
      {"all_redcue", "all_redcue"},
      {"all_reduce,", "collective ''"},
      {"all_reduce surplus", "surplus"},
      {"all_reduce --frobnicate", "--frobnicate"},
      {"all_reduce -b 8 -e 4", "above"},
      {"all_reduce -b 128M -e 64M", "above"},
      {"all_reduce -b 0", "-b 0"},
      {"all_reduce -f 1", "-f '1'"},
      {"all_reduce -f 1 -i 0", "exclude"},
      {"all_reduce -f 0", "-f '0'"},
      {"all_reduce -f nan", "-f 'nan'"},
      {"all_reduce -f 1e3", "-f '1e3'"},
      {"all_reduce -i 0", "-i 0"},
      {"all_reduce -b 1 -e 64M -i 2", "more than 1000 sizes"},
      {"all_reduce -n 0", "-n '0'"},
      {"all_reduce -n 1.5", "-n '1.5'"},
      {"all_reduce -g 0", "-g"},
      {"all_reduce -g 99", "-g"},
      {"all_reduce -t 0", "-t"},
      {"all_reduce -c 2", "-c '2'"},
      {"all_reduce --rounds 0", "--rounds '0'"},
      {"all_reduce -b 1T", "1T"},
      {"all_reduce -b 8KB", "8KB"},
      {"all_reduce -b -8", "-8"},
      {"all_reduce -b 0x10", "0x10"},
      {"all_reduce -b 1e6", "1e6"},
      {"all_reduce -r 2", "-r 2"},
      {"all_reduce -r -1", "-1"},
      {"all_reduce -d f8", "f8"},
      {"all_reduce -o mean", "mean"},
      {"all_reduce --backend auto", "--backend 'auto'"},
      {"all_reduce --backend carrier-pigeon", "carrier-pigeon"},
      {"all_reduce --memory shared", "shared"},
      {"all_reduce --algorithm magic", "magic"},
      {"all_reduce --algorithm all,magic", "magic"},
      {"all_reduce --algorithm ,all", "--algorithm ''"},
      {"gather --algorithm ring,two_shot", "--algorithm ring, two_shot: gather has packets, direct, tree"},
      {"barrier --algorithm ring", "barrier has direct, dissemination"},
      {"gather -r 2", "-r 2"},
      {"gather -r every", "-r 'every'"},
      {"gather -r all,1", "-r 'all,1'"},
      {"all_reduce --in-place maybe", "maybe"},
      {"all_reduce --json no/such/folder/file.json", "no/such/folder/file.json"},
      {"reduce_scatter -b 4 -e 4", "at least 8 bytes"},
      {"all_to_all -b 4 -e 4", "at least 8 bytes"},
      {"scatter -d f64 -b 8 -e 15", "at least 16 bytes"},
  };
  for (const auto& [line, named] : table) {
    const std::string said = refusal(line);
    EXPECT_NE(said.find(named), std::string::npos) << "arguments: " << line << "\nsaid: " << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << "arguments: " << line << "\nsaid: " << said;
  }
  EXPECT_NE(refusal({"all_reduce", "-b", ""}).find("-b ''"), std::string::npos);
  EXPECT_NE(refusal({"all_reduce", "-b", "8 K"}).find("8 K"), std::string::npos);
  EXPECT_NE(refusal("send_recv", 1).find("two ranks"), std::string::npos);
}

TEST(BenchArguments, ForAJsonFileAreCheckedWithoutTouchingWhatIsThere) {
  namespace fs = std::filesystem;
  std::string name = testing::TempDir() + "bench_arguments_XXXXXX";
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  const fs::path folder = name;
  const auto said = [&](const fs::path& file) { return refusal("all_reduce --json " + (folder / file).string()); };
  EXPECT_EQ(said("new.json"), "");
  EXPECT_FALSE(fs::exists(folder / "new.json"));
  std::ofstream(folder / "old.json") << "kept";
  EXPECT_EQ(said("old.json"), "");
  EXPECT_EQ(fs::file_size(folder / "old.json"), 4u);
  fs::create_symlink("target.json", folder / "link.json");
  EXPECT_EQ(said("link.json"), "");
  EXPECT_TRUE(fs::is_symlink(folder / "link.json"));
  EXPECT_FALSE(fs::exists(folder / "target.json"));
  fs::create_symlink("no/such/folder/target.json", folder / "lost.json");
  EXPECT_NE(said("lost.json").find("cannot write"), std::string::npos);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_NE(said("pipe").find("cannot write"), std::string::npos);
  EXPECT_NE(said("").find("cannot write"), std::string::npos);
  EXPECT_NE(said("old.json/below.json").find("cannot write"), std::string::npos);
  EXPECT_NE(said(std::string(5000, 'x')).find("cannot write"), std::string::npos);
  fs::remove_all(folder);
}

TEST(BenchArguments, BeyondTheMemoryAreRefusedWithBytesNeededAndFree) {
  // 64 MiB in and out, two ranks, two kinds of memory.
  const std::size_t needed = std::size_t{512} << 20;
  EXPECT_EQ(refusal("all_reduce -e 64M", 2, needed), "");
  const std::string said = refusal("all_reduce -e 64M", 2, needed - 1);
  EXPECT_NE(said.find("536870912 bytes"), std::string::npos) << said;
  EXPECT_NE(said.find("536870911 bytes"), std::string::npos) << said;
  EXPECT_NE(refusal("all_reduce -b 8589934591G -e 8589934591G").find("needs"), std::string::npos);
  EXPECT_EQ(refusal("all_gather -e 64M --memory any", 4, std::size_t{4 * (64 + 16)} << 20), "");
  EXPECT_NE(refusal("all_gather -e 64M --memory any", 4, (std::size_t{4 * (64 + 16)} << 20) - 1), "");
}

TEST(BenchArguments, GiveTheSizesThatTheTableShows) {
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(sizes("all_reduce -b 8 -e 64M", Operation::all_reduce, 2).size(), 24u);
  EXPECT_EQ(sizes("all_reduce -b 64M -e 70M -i 2M", Operation::all_reduce, 2),
            (Sizes{64 << 20, 66 << 20, 68 << 20, 70 << 20}));
  EXPECT_EQ(sizes("reduce_scatter -b 4 -e 128", Operation::reduce_scatter, 8), (Sizes{32, 64, 128}))
      << "sizes below one element per rank are left out";
  EXPECT_EQ(sizes("all_reduce -b 8 -e 16 -i 1", Operation::all_reduce, 2), (Sizes{8, 12, 16}))
      << "sizes that come to the same are one row";
  EXPECT_EQ(sizes("barrier", Operation::barrier, 2), (Sizes{0}));
}

TEST(BenchArguments, ForBothPlacesMeasureOncePerPlaceWhereThereIsAChoice) {
  const BenchArguments both = parse_bench(words("all --in-place both -b 8 -e 8"));
  EXPECT_EQ(cases_of(both, Operation::all_reduce, 2, false).size(), 1u);
  EXPECT_EQ(cases_of(both, Operation::all_reduce, 2, true).size(), 1u);
  EXPECT_EQ(cases_of(both, Operation::broadcast, 2, false).size(), 1u);
  EXPECT_EQ(cases_of(both, Operation::broadcast, 2, true).size(), 0u);
  const BenchArguments in = parse_bench(words("all --in-place in -b 8 -e 8"));
  EXPECT_EQ(cases_of(in, Operation::broadcast, 2, true).size(), 1u);
}

TEST(BenchArguments, ForAllToAllInPlaceMeasureItOutOfPlace) {
  const BenchArguments both = parse_bench(words("all_to_all --in-place both -b 64 -e 64"));
  ASSERT_EQ(cases_of(both, Operation::all_to_all, 2, false).size(), 1u);
  EXPECT_FALSE(cases_of(both, Operation::all_to_all, 2, false)[0].in_place);
  EXPECT_TRUE(cases_of(both, Operation::all_to_all, 2, true).empty());
}

TEST(BenchArguments, ForEveryRootGiveEachRankItsTurnWhereThereIsARoot) {
  const BenchArguments every = parse_bench(words("all -r all -b 64 -e 128"));
  for (int i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    std::vector<std::pair<std::size_t, int>> seen;
    for (const Case& c : cases_of(every, operation, 3, false)) seen.emplace_back(c.bytes, c.root);
    const Case shape{.operation = operation};
    const std::size_t low = shape.spreads() ? 60 : 64, high = shape.spreads() ? 120 : 128;
    if (shape.rooted())
      EXPECT_EQ(seen, (std::vector<std::pair<std::size_t, int>>{
                          {low, 0}, {low, 1}, {low, 2}, {high, 0}, {high, 1}, {high, 2}}))
          << name_of(operation);
    else
      EXPECT_EQ(seen.size(), operation == Operation::barrier ? 1u : 2u) << name_of(operation);
  }
  EXPECT_EQ(cases_of(parse_bench(words("gather -r 2")), Operation::gather, 3, false)[0].root, 2);
}

TEST(BenchArguments, ForAllAlgorithmsNameEachButAuto) {
  const BenchArguments all = parse_bench(words("all_reduce --algorithm all"));
  EXPECT_EQ(all.algorithms.size(), static_cast<std::size_t>(kAlgorithms - 1));
  EXPECT_EQ(std::count(all.algorithms.begin(), all.algorithms.end(), Algorithm::automatic), 0);
  EXPECT_TRUE(all.all_algorithms);
  const BenchArguments with_auto = parse_bench(words("all_reduce --algorithm auto,all,ring"));
  EXPECT_EQ(with_auto.algorithms.size(), static_cast<std::size_t>(kAlgorithms));
}

TEST(BenchArguments, KnowTheAlgorithmsOfEveryCollective) {
  for (int i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    const std::size_t least = operation == Operation::send_recv ? 1 : 2;
    EXPECT_GE(algorithms_of(operation).size(), least) << name_of(operation);
  }
  const std::vector<Algorithm> gather = {Algorithm::packets, Algorithm::direct, Algorithm::tree};
  EXPECT_EQ(algorithms_of(Operation::gather), gather) << names_of(algorithms_of(Operation::gather));
}

TEST(BenchArguments, NoNameAGpuBackendOnCpusNorTheOtherWayRound) {
  EXPECT_EQ(misfit({}, true), "");
  EXPECT_EQ(misfit({BackendKind::native, BackendKind::mpi}, false), "");
  EXPECT_EQ(misfit({BackendKind::nccl, BackendKind::native}, true), "");
  EXPECT_NE(misfit({BackendKind::native, BackendKind::nccl}, false).find("--backend nccl"), std::string::npos);
  EXPECT_NE(misfit({BackendKind::mpi}, true).find("--backend mpi"), std::string::npos);
}

TEST(BenchArguments, AskingForHelpGetIt) {
  const auto help = parse_bench({"-h"}).help;
  ASSERT_TRUE(help);
  for (const char* part :
       {"examples", "--backend", "--json", "-b", "busbw", "all_to_all", "halving_doubling", "--costs"})
    EXPECT_NE(help->find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace tutti::bench
