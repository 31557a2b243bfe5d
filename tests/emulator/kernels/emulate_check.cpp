// The program behind `./tutti emulate --check`: a kernel's compiled code, for all ranks, in many schedules.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

#include "tests/emulator/kernels/trial.hpp"

namespace tutti::emulator {
namespace {

using cases::Case;
using Seconds = std::chrono::duration<double>;

struct Options {
  std::string kernel;
  std::string library = TUTTI_KERNELS;
  int architecture = TUTTI_ARCHITECTURE;
  int ranks = 4, blocks = 2, threads = kMaxRanks, calls = 2, root = 0;
  std::size_t count = 1003;
  std::uint64_t seeds = 1000, first = 1;
  std::string type = "f32", op = "sum", memory = "mapped";
  bool in_place = false;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  int resident = 0;
};

template <class Enum>
Enum named(const std::string& name, int how_many, const char* option) {
  std::string known;
  for (int k = 0; k < how_many; ++k) {
    if (name == name_of(static_cast<Enum>(k))) return static_cast<Enum>(k);
    known += fmt::format("{}{}", k == 0 ? "" : " ", name_of(static_cast<Enum>(k)));
  }
  throw std::runtime_error(fmt::format("{} '{}': use one of {}", option, name, known));
}

TrialSetting setting_of(const Options& o) {
  Case c{.kernel = named<Kernel>(o.kernel, kKernels, "KERNEL"),
         .count = o.count,
         .type = named<DataType>(o.type, kDataTypes, "--type"),
         .op = named<ReduceOp>(o.op, kReduceOps, "--op"),
         .root = o.root,
         .to = (o.root + 1) % o.ranks,
         .blocks = o.blocks,
         .in_place = o.in_place};
  if (c.kernel == Kernel::recv) c.kernel = Kernel::send;
  if (c.shape() == cases::Shape::nothing) c.count = 0;
  c.mapped = o.memory == "mapped"   ? cases::Mapped::all
             : o.memory == "staged" ? cases::Mapped::none
             : o.memory == "mixed"  ? cases::Mapped::all_but_one
                                    : cases::Mapped::multicast;
  if (o.in_place && !c.may_be_in_place())
    throw std::runtime_error(fmt::format("--in-place: {} has an input apart from its output", o.kernel));
  TrialSetting setting;
  setting.geometry = cases::tight_geometry(o.ranks, o.blocks, cases::kLeastSlots + 1);
  if (by_packets(c.kernel)) {  // room for the whole call
    const std::size_t bytes = c.count * size_of(c.type);
    setting.geometry.packet_bytes = std::max<std::size_t>(
        setting.geometry.packet_bytes, ceil_div(ceil_div(bytes, std::size_t(o.blocks)), kLine) * kLine + kLine);
  }
  if (!cases::takes(c, setting.geometry))
    throw std::runtime_error(
        fmt::format("{} does not take {} {} of {} in {} blocks", o.kernel, o.op, o.type, o.count, o.blocks));
  for (int call = 0; call < o.calls; ++call) {
    setting.calls.push_back(c);
    c.salt += 9;
  }
  setting.threads = o.threads;
  setting.resident = static_cast<std::uint32_t>(o.resident);
  return setting;
}

/// Shows how far it is, on a terminal only.
class Progress {
 public:
  explicit Progress(std::uint64_t seeds) : seeds_(seeds), shown_(isatty(STDERR_FILENO)) {}
  ~Progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  void show(std::uint64_t done) {
    if (!shown_) return;
    const double seconds = Seconds(std::chrono::steady_clock::now() - start_).count();
    std::fputs(fmt::format("\r\033[K{} of {} schedules, {:.0f} a second", done, seeds_, double(done) / seconds).c_str(),
               stderr);
  }

 private:
  std::uint64_t seeds_;
  bool shown_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct Failure {
  std::uint64_t seed = 0;
  std::string text;
};

/// All seeds, on several threads, or up to the first that fails.
std::optional<Failure> check(const Options& o, const KernelCode& code, const TrialSetting& setting,
                             std::uint64_t* instructions) {
  std::atomic<std::uint64_t> next{0}, done{0}, executed{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::optional<Failure> failure;
  Progress progress(o.seeds);
  const auto work = [&] {
    try {
      KernelTrial trial(code, setting);
      for (std::uint64_t i = next++; i < o.seeds && !stop; i = next++) {
        const Outcome outcome = trial.run(o.first + i);
        executed += outcome.instructions;
        const std::scoped_lock lock(mutex);
        if (!outcome.clean() && (!failure || failure->seed > o.first + i)) {
          failure = Failure{o.first + i, outcome.text};
          stop = true;
        }
        progress.show(++done);
      }
    } catch (const std::exception& error) {
      const std::scoped_lock lock(mutex);
      failure = Failure{o.first, error.what()};
      stop = true;
    }
  };
  std::vector<std::jthread> others;
  for (unsigned job = 1; job < o.jobs; ++job) others.emplace_back(work);
  work();
  others.clear();
  *instructions = executed;
  return failure;
}

int run(const Options& o) {
  const TrialSetting setting = setting_of(o);
  const KernelCode code({o.library}, o.architecture);
  const std::string what = fmt::format(
      "{} (sm_{}), {} ranks x {} blocks x {} threads, {} {} {}, {}{}, {} calls", o.kernel, o.architecture, o.ranks,
      o.blocks, o.threads, setting.calls.front().count, o.type, o.op, o.memory, o.in_place ? " in place" : "", o.calls);
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t instructions = 0;
  const std::optional<Failure> failure = check(o, code, setting, &instructions);
  const double seconds = Seconds(std::chrono::steady_clock::now() - start).count();
  if (failure) {
    fmt::print("{}\n  seed {}: {}\n  again: --first-seed {} --seeds 1 and the other options as they are\n", what,
               failure->seed, failure->text, failure->seed);
    return 1;
  }
  fmt::print("{}: {} schedules without a finding; {:.0f} M instructions, {:.1f} s\n", what, o.seeds,
             double(instructions) / 1e6, seconds);
  return 0;
}

}  // namespace
}  // namespace tutti::emulator

int main(int argc, char** argv) {
  using namespace tutti;
  using namespace tutti::emulator;
  Options o;
  CLI::App app(
      "Runs the compiled code of a kernel for all ranks, in schedules drawn from seeds, and checks every access.",
      "tutti emulate --check");
  std::string kernels = "one of";
  for (int k = 0; k < kKernels; ++k) kernels += fmt::format(" {}", name_of(static_cast<Kernel>(k)));
  app.add_option("KERNEL", o.kernel, kernels)->required();
  app.add_option("--ranks", o.ranks, "ranks, each on a GPU of its own")->check(CLI::Range(2, kMaxRanks));
  app.add_option("--blocks", o.blocks, "blocks of each rank's launch")->check(CLI::Range(1, kMaxBlocks));
  app.add_option("--threads", o.threads, "threads of a block")->check(CLI::Range(kMaxRanks, 384));
  app.add_option("--count", o.count, "elements")->check(CLI::Range(std::size_t{0}, std::size_t{1} << 24));
  app.add_option("--type", o.type, "data type");
  app.add_option("--op", o.op, "reduction");
  app.add_option("--root", o.root, "root, or the sender of a message")->check(CLI::NonNegativeNumber);
  app.add_option("--memory", o.memory, "buffers that peers reach, or not, or on all ranks but one, or a switch")
      ->check(CLI::IsMember({"mapped", "staged", "mixed", "multicast"}));
  app.add_flag("--in-place", o.in_place, "input and output are one buffer");
  app.add_option("--calls", o.calls, "calls one after the other")->check(CLI::Range(1, 1000));
  app.add_option("--seeds", o.seeds, "schedules")->check(CLI::PositiveNumber);
  app.add_option("--first-seed", o.first, "seed of the first schedule");
  app.add_option("--resident", o.resident, "blocks that a GPU holds at once; 0: any number")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--jobs", o.jobs, "schedules that run at the same time")->check(CLI::Range(1u, 1024u));
  app.add_option("--arch", o.architecture, "whose PTX: 80, 90 or 100, if the library has it");
  app.add_option("--library", o.library, "where the kernels are: a library, object, program or .ptx file");
  app.option_defaults();
  CLI11_PARSE(app, argc, argv);
  try {
    if (o.root >= o.ranks) throw std::runtime_error(fmt::format("--root {}: there are {} ranks", o.root, o.ranks));
    return run(o);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tutti-emulate-check: {}\n", error.what());
    return 2;
  }
}
