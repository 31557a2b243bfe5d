#include "tests/emulator/kernels/trial.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <cstring>

#include "kernels/launch_cuda.hpp"
#include "tests/emulator/kernels/coverage.hpp"

namespace tutti::emulator {
namespace {

/// What is passed to a kernel, argument by argument.
class Arguments {
 public:
  explicit Arguments(const Function& function) : function_(function), bytes_(function.parameter_bytes) {}

  template <class T>
  Arguments& add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (next_ == function_.parameters.size() || function_.parameters[next_].bytes != sizeof(T))
      throw std::runtime_error(fmt::format("{}: parameter {} is not of {} bytes", function_.name, next_, sizeof(T)));
    std::memcpy(bytes_.data() + function_.parameters[next_++].offset, &value, sizeof value);
    return *this;
  }
  std::vector<std::byte> all() const {
    if (next_ != function_.parameters.size())
      throw std::runtime_error(fmt::format("{}: takes {} parameters", function_.name, function_.parameters.size()));
    return bytes_;
  }

 private:
  const Function& function_;
  std::vector<std::byte> bytes_;
  std::size_t next_ = 0;
};

constexpr std::size_t kPlantedBytes = sizeof(std::uint64_t) * Plant::kKinds * kPurposes;

/// One message, as messages_cuda.cu takes a group of them.
struct OneMessage {
  static constexpr int kCapacity = 8;
  int ends[kCapacity];
  Message messages[kCapacity];
};

}  // namespace

struct KernelTrial::Parts {
  const KernelCode& code;
  TrialSetting setting;
  CheckedMemory memory;
  World world;
  cases::CaseBuffers<World> buffers;
  std::vector<Stream> streams;  // [rank]
  std::unique_ptr<Schedule> schedule;
  std::string wrong;                 // the first result that is
  std::uint64_t* planted = nullptr;  // where the plant's rank notes that it came by it

  Parts(const KernelCode& its_code, const TrialSetting& its_setting)
      : code(its_code),
        setting(its_setting),
        world(memory, setting.geometry),
        buffers(world, cases::buffer_bytes(setting.calls, setting.geometry.ranks), true) {
    if (setting.plant.kind == Plant::Kind::none) return;
    planted = reinterpret_cast<std::uint64_t*>(world.allocate(setting.plant.rank, kPlantedBytes));
    setting.plant.used = planted;
  }

  bool takes_part(const cases::Case& c, int rank) const {
    return c.shape() != cases::Shape::message || rank == c.root || rank == c.to;
  }

  /// The case as the rank sees it: the receiver of a message receives.
  cases::Case mine(cases::Case c, int rank) const {
    if (c.shape() == cases::Shape::message && rank == c.to) c.kernel = Kernel::recv;
    return c;
  }

  Launch launch(const cases::Case& c, int rank, const Call& call) {
    const bool defective = setting.plant.kind != Plant::Kind::none;
    const Entry entry = defective ? code.defective(c.kernel) : code.collective(c.kernel);
    Launch launch;
    launch.image = world.image(rank, *entry.module);
    launch.function = entry.function;
    launch.grid = {static_cast<std::uint32_t>(c.blocks), 1, 1};
    launch.block = {static_cast<std::uint32_t>(setting.threads), 1, 1};
    launch.device = rank;
    launch.multiprocessors = static_cast<std::uint32_t>(c.blocks);
    Arguments arguments(*entry.function);
    arguments.add(world.team(rank));
    if (defective) {
      arguments.add(call).add(world.reports(rank)).add(setting.plant);
    } else if (c.shape() == cases::Shape::message) {
      OneMessage one{};
      one.ends[0] = 1;
      one.messages[0] = {call, c.blocks, c.kernel == Kernel::send};
      arguments.add(one).add(world.reports(rank));
    } else {
      arguments.add(call).add(world.reports(rank));
    }
    launch.parameters = arguments.all();
    return launch;
  }

  bool barriers_only() const {
    return std::all_of(setting.calls.begin(), setting.calls.end(),
                       [](const cases::Case& c) { return c.shape() == cases::Shape::nothing; });
  }

  /// A barrier moves nothing, so the caller does: every rank writes its cell before odd calls and reads all before even
  /// ones, and only the barriers order that.
  void touch_cells(int stream, int rank, std::uint64_t number) {
    for (int r = 0; r < setting.geometry.ranks; ++r)
      if (number % 2 == 0 || r == rank) memory.host_access(stream, world.segment(0, r), kLine, number % 2 != 0);
  }

  void tell_host(int stream, const cases::Prepared& p, bool writes_in) {
    if (p.in_bytes != 0) memory.host_access(stream, p.call.in, p.in_bytes, writes_in);
    if (p.out_bytes != 0) memory.host_access(stream, p.call.out, p.out_bytes, true);
  }

  void queue(const cases::Case& shared, int rank, std::uint64_t number) {
    const cases::Case c = mine(shared, rank);
    const cases::Prepared p = buffers.prepare(c, rank);
    Call call = p.call;
    call.number = number;
    Stream& stream = streams[static_cast<std::size_t>(rank)];
    stream.work.push_back({.host = [this, c, rank, number](int s) {
      if (barriers_only()) touch_cells(s, rank, number);
      tell_host(s, buffers.prepare(c, rank), true);
    }});
    stream.work.push_back({.launch = launch(c, rank, call)});
    stream.work.push_back({.host = [this, c, rank, p](int s) {
      if (p.out_bytes != 0) memory.host_access(s, p.call.out, p.out_bytes, false);
      const std::string report = world.failure(rank);
      const std::string result = report.empty() ? buffers.wrong_in(c, rank) : report;
      if (wrong.empty()) wrong = result;
      tell_host(s, p, true);  // wrong_in spoils them: the caller's next write
    }});
  }
};

KernelTrial::KernelTrial(const KernelCode& code, const TrialSetting& setting)
    : parts_(std::make_unique<Parts>(code, setting)) {
  // Each schedule takes the same memory again; given back to the system in between, it cost two thirds of the time.
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  Parts& p = *parts_;
  for (int r = 0; r < setting.geometry.ranks; ++r) p.streams.push_back({.rank = r, .device = r, .work = {}});
  std::uint64_t number = 0;
  for (const cases::Case& c : setting.calls) {
    ++number;
    for (int r = 0; r < setting.geometry.ranks; ++r)
      if (p.takes_part(c, r)) p.queue(c, r, number);
  }
  p.schedule = std::make_unique<Schedule>(p.memory, p.streams, ScheduleSettings{.resident = setting.resident});
}
KernelTrial::~KernelTrial() = default;

Outcome KernelTrial::run(std::uint64_t seed) {
  Parts& p = *parts_;
  p.world.reset(p.setting.packet_uses);
  p.wrong.clear();
  if (p.planted) std::memset(p.planted, 0, kPlantedBytes);
  Outcome outcome;
  try {
    outcome.instructions = p.schedule->run(seed).instructions;
    outcome.text = p.wrong;
  } catch (const Found& found) {
    outcome.text = found.what();
    outcome.defect = found.defect();
  } catch (const Fault& fault) {
    outcome.text = fault.what();
  }
  return outcome;
}

std::vector<Plant> KernelTrial::planted() const {
  std::vector<Plant> all;
  for (int kind = 0; kind < Plant::kKinds; ++kind)
    for (int purpose = 0; purpose < kPurposes; ++purpose)
      if (parts_->planted[kind * kPurposes + purpose] != 0)
        all.push_back({static_cast<Plant::Kind>(kind), parts_->setting.plant.rank, static_cast<Purpose>(purpose)});
  return all;
}

void KernelTrial::replace(const Function* original, const Function* by) {
  for (Stream& stream : parts_->streams)
    for (Work& work : stream.work)
      if (work.launch.function == original) work.launch.function = by;
}

std::set<const Function*> KernelTrial::functions() const {
  std::set<const Function*> all;
  for (const Stream& stream : parts_->streams)
    for (const Work& work : stream.work)
      if (!work.host) all.insert(work.launch.function);
  return all;
}

std::set<std::size_t> KernelTrial::executed(const Function* function) {
  parts_->world.reset(parts_->setting.packet_uses);
  return covered(parts_->streams, function, parts_->world.windows());
}

}  // namespace tutti::emulator
