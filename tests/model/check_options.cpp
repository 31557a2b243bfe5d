#include "tests/model/check_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <thread>

namespace tutti::model {
namespace {

constexpr const char* kMemories[] = {"mapped", "staged", "mixed", "pulled", "multicast"};

const char* const kExamples = R"(examples:
  tutti check
  tutti check --kernel ring_all_reduce --ranks 7 --seeds 10000
  tutti check --kernel tree_all_reduce,tree_reduce --ranks 2..9,16 --memory staged --blocks 2
  tutti check --sequences --ranks 5 --seeds 1000
  tutti check --minutes 1
  tutti check --mutants --kernel ring_reduce            is the check itself any good?
  tutti check --kernel send --plant wait:p2p_credit     what a finding looks like

Without --kernel and --sequences: every kernel in worlds of 2 to 16, 32 and 64 ranks (the costliest not in the largest),
and sequences of mixed calls. A seed stands for a size around the borders of slices, lines and packets, a kind of memory,
blocks, slots, type, operation and root, but for what an option fixes, and for the order in which the ranks' blocks run.
The first finding of each kernel is shown with the command that runs its schedule again; the kernel's other schedules are
then left out. Exit code: 0 without a finding, 1 with one, 2 if the arguments are wrong. docs/checker.md has the rest.)";

template <class Enum, class Name>
Enum named(const std::string& text, int how_many, const std::string& option, Name name) {
  std::string known;
  for (int k = 0; k < how_many; ++k) {
    if (text == name(static_cast<Enum>(k))) return static_cast<Enum>(k);
    known.append(k == 0 ? "" : ", ").append(name(static_cast<Enum>(k)));
  }
  throw OptionError(fmt::format("{} '{}': use one of {}", option, text, known));
}
template <class Enum>
Enum named(const std::string& text, int how_many, const std::string& option) {
  return named<Enum>(text, how_many, option, [](Enum value) { return tutti::name_of(value); });
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::vector<Kernel> kernels_of(const std::string& text) {
  std::vector<Kernel> kernels;
  for (const std::string& part : parts_of(text)) {
    if (part == "all") {
      for (int k = 0; k < kKernels; ++k) kernels.push_back(static_cast<Kernel>(k));
      continue;
    }
    kernels.push_back(named<Kernel>(part, kKernels, "--kernel"));
  }
  for (Kernel& kernel : kernels)
    if (kernel == Kernel::recv) kernel = Kernel::send;
  std::sort(kernels.begin(), kernels.end());
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
  return kernels;
}

/// "7", "2..8", "2..8,16"
std::vector<int> ranks_of(const std::string& text) {
  const auto number = [&text](const std::string& digits) {
    const bool plain =
        !digits.empty() && digits.size() <= 3 && digits.find_first_not_of("0123456789") == std::string::npos;
    const int value = plain ? std::stoi(digits) : 0;
    if (value < 1 || value > kMaxRanks)
      throw OptionError(
          fmt::format("--ranks '{}': use numbers from 2 to {}, as in 7, 2..8 or 2..8,16", text, kMaxRanks));
    return value;
  };
  std::vector<int> ranks;
  for (const std::string& part : parts_of(text)) {
    const auto dots = part.find("..");
    const int first = number(part.substr(0, dots));
    const int last = dots == std::string::npos ? first : number(part.substr(dots + 2));
    if (last < first) throw OptionError(fmt::format("--ranks '{}': {} is below {}", text, last, first));
    for (int r = first; r <= last; ++r) ranks.push_back(r);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  if (ranks.back() == 1)
    throw OptionError("--ranks 1: no kernel runs for one rank, the layer above copies; use 2 or more");
  return ranks;
}

std::uint64_t seed_of(const std::string& text) {
  constexpr std::size_t kMostDigits = 19;  // fit into 64 bits
  if (text.empty() || text.size() > kMostDigits || text.find_first_not_of("0123456789") != std::string::npos)
    throw OptionError(fmt::format("--first-seed '{}': use a whole number of at most {} digits", text, kMostDigits));
  return std::stoull(text);
}

bool has_purpose(Word word) {
  return word == Word::signal || word == Word::wait || word == Word::advance_sent || word == Word::advance_received;
}

Plant plant_of(const std::string& text) {
  const auto colon = text.find(':');
  Plant plant;
  plant.word = named<Word>(text.substr(0, colon), static_cast<int>(Word::sync) + 1, "--plant",
                           [](Word word) { return model::name_of(word); });
  if (colon != std::string::npos && !has_purpose(plant.word))
    throw OptionError(fmt::format("--plant '{}': {} has no purpose", text, model::name_of(plant.word)));
  if (colon != std::string::npos)
    plant.purpose = named<Purpose>(text.substr(colon + 1), kPurposes, "--plant",
                                   [](Purpose purpose) { return model::name_of(purpose); });
  return plant;
}

}  // namespace

const char* memory_name(cases::Mapped mapped) { return kMemories[static_cast<int>(mapped)]; }

std::string text_of(const Plant& plant) {
  const char* const word = model::name_of(plant.word);
  return has_purpose(plant.word) ? fmt::format("{}:{}", word, model::name_of(plant.purpose)) : word;
}

std::optional<Options> parse_options(const std::vector<std::string>& arguments, std::string& help) {
  std::string kernels, ranks, type, op, memory, plant, first_seed;
  std::size_t count = 0, bytes = 0;
  std::uint64_t seeds = 0;
  int root = 0, blocks = 0, slots = 0;
  bool in_place = false, out_of_place = false;
  Options o;
  o.jobs = std::max(1u, std::thread::hardware_concurrency());
  CLI::App app("Runs every kernel in the model, all ranks in one thread, and checks every access.", "tutti check");
  std::string known = "only these, of: all";
  for (int k = 0; k < kKernels; ++k) known.append(", ").append(name_of(static_cast<Kernel>(k)));
  auto* const with_kernels = app.add_option("--kernel", kernels, known);
  app.add_flag("--sequences", o.sequences, "sequences of mixed calls on one communicator");
  auto* const with_ranks = app.add_option("--ranks", ranks, "worlds: 7, 2..8 or 2..8,16");
  auto* const with_seeds = app.add_option("--seeds", seeds, "schedules of each kernel in each world [fewer in larger]");
  auto* const with_first = app.add_option("--first-seed", first_seed, "the first of them [1]");
  auto* const with_count = app.add_option("--count", count, "elements [sizes around every border]");
  auto* const with_bytes = app.add_option("--size", bytes, "bytes in place of a count, with K, M for 1024-based units");
  with_bytes->transform(CLI::AsSizeValue(false))->excludes(with_count);
  with_count->check(CLI::Range(std::size_t{0}, std::size_t{1} << 24));
  auto* const with_type = app.add_option("--type", type, "data type [all]");
  auto* const with_op = app.add_option("--op", op, "reduction [all]");
  auto* const with_root = app.add_option("--root", root, "root, or the sender of a message [all]");
  auto* const with_memory = app.add_option("--memory", memory,
                                           "buffers are mapped, staged, mixed (mapped on all ranks but one), pulled "
                                           "(mapped, read by the peers), or multicast "
                                           "(mapped where a switch reaches them) [all]");
  auto* const with_blocks = app.add_option("--blocks", blocks, "blocks of each rank [1 to 3]");
  auto* const with_slots = app.add_option("--slots", slots, "slots of the inbox and outbox [3 to 5]");
  auto* const with_in_place = app.add_flag("--in-place", in_place, "input and output are one buffer [both]");
  app.add_flag("--out-of-place", out_of_place, "they are two")->excludes(with_in_place);
  with_root->check(CLI::Range(0, kMaxRanks - 1));
  with_blocks->check(CLI::Range(1, kMaxBlocks));
  with_slots->check(CLI::Range(cases::kLeastSlots, 64));
  app.add_option("--jobs", o.jobs, "schedules that run at the same time [as many as cores]")
      ->check(CLI::Range(1u, 1024u));
  app.add_option("--minutes", o.minutes, "stop after so long, and say what was left out [no limit]")
      ->check(CLI::Range(0.001, 1e6));
  auto* const with_plant = app.add_option(
      "--plant", plant, "rank 1 leaves out this WORD or WORD:PURPOSE, as in wait:data: a test of the check itself");
  app.add_flag("--mutants", o.mutants,
               "change every word of the kernels in turn, on every rank; each mutant is to be found [in 200 seeds]");
  app.footer(kExamples);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    help = app.help();
    return {};
  } catch (const CLI::ParseError& error) {
    throw OptionError(fmt::format("{} (-h lists the options)", error.what()));
  }
  if (std::isnan(o.minutes)) throw OptionError("--minutes: use a number from 0.001 to 1000000");
  if (with_first->count() > 0) o.first_seed = seed_of(first_seed);
  if (with_kernels->count() > 0) o.kernels = kernels_of(kernels);
  if (with_ranks->count() > 0) o.ranks = ranks_of(ranks);
  if (with_seeds->count() > 0) {
    if (seeds == 0 || seeds > 1'000'000'000) throw OptionError("--seeds: use a number from 1 to 1000000000");
    o.seeds = seeds;
  }
  for (const char* other : {"--sequences", "--ranks", "--first-seed", "--count", "--size", "--type", "--op", "--root",
                            "--memory", "--blocks", "--slots", "--in-place", "--out-of-place", "--minutes", "--plant"})
    if (o.mutants && app.count(other) > 0)
      throw OptionError(fmt::format("--mutants chooses its calls itself: leave out {}", other));
  if (with_count->count() > 0) o.pins.count = count;
  if (with_bytes->count() > 0) {
    if (bytes > std::size_t{64} << 20) throw OptionError("--size: use at most 64M");
    o.pins.bytes = bytes;
  }
  if (with_type->count() > 0) o.pins.type = named<DataType>(type, kDataTypes, "--type");
  if (with_op->count() > 0) o.pins.op = named<ReduceOp>(op, kReduceOps, "--op");
  if (with_root->count() > 0) o.pins.root = root;
  if (with_memory->count() > 0)
    o.pins.mapped = named<cases::Mapped>(memory, std::size(kMemories), "--memory", memory_name);
  if (with_blocks->count() > 0) o.pins.blocks = blocks;
  if (with_slots->count() > 0) o.pins.slots = slots;
  if (in_place || out_of_place) o.pins.in_place = in_place;
  if (with_plant->count() > 0) o.plant = plant_of(plant);
  if (o.pins.root && !o.ranks.empty() && root >= o.ranks.front())
    throw OptionError(fmt::format("--root {}: there are {} ranks", root, o.ranks.front()));
  return o;
}

std::string command_for(const Found& found, const std::optional<Plant>& plant) {
  std::string command = "./tutti check";
  if (const auto& trial = found.trial) {
    const cases::Case& c = trial->calls.front();
    command +=
        fmt::format(" --kernel {} --ranks {} --count {} --type {} --op {} --root {} --memory {} --blocks {} --slots {}",
                    name_of(c.kernel), found.group.ranks, c.count, name_of(c.type), name_of(c.op), c.root,
                    memory_name(c.mapped), c.blocks, trial->geometry.slots);
    if (c.may_be_in_place()) command += c.in_place ? " --in-place" : " --out-of-place";
  } else {
    command += fmt::format(" --sequences --ranks {}", found.group.ranks);
  }
  command += fmt::format(" --first-seed {} --seeds 1", found.seed);
  if (plant) command.append(" --plant ").append(text_of(*plant));
  return command;
}

}  // namespace tutti::model
