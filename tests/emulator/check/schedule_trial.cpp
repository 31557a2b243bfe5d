#include "tests/emulator/check/schedule_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tutti::emulator {
namespace {

std::string ptx_of(const std::vector<std::string>& bodies) {
  std::string text = ".version 9.0\n.target sm_90\n.address_size 64\n";
  for (std::size_t k = 0; k < bodies.size(); ++k)
    text += fmt::format(R"(.visible .entry rank{}(
  .param .u64 a0,
  .param .u64 a1,
  .param .u64 a2,
  .param .u64 a3
)
{{
  .reg .pred %p<10>;
  .reg .b32 %r<10>;
  .reg .b64 %l<10>;
  .reg .b128 %q<2>;
  .reg .b64 %a<4>;
  .reg .b32 %t;
  .shared .align 16 .b8 shared[256];
  ld.param.u64 %a0, [a0];
  ld.param.u64 %a1, [a1];
  ld.param.u64 %a2, [a2];
  ld.param.u64 %a3, [a3];
  mov.u32 %t, %tid.x;
{}
  ret;
}}
)",
                        k, bodies[k]);
  return text;
}

}  // namespace

Trial::Trial(std::vector<std::string> bodies, std::uint32_t threads, std::uint32_t blocks,
             CheckedMemory::Settings settings)
    : module_(std::make_unique<Module>(ptx_of(bodies), "trial")), image_{module_.get(), {}}, memory_(settings) {
  for (std::size_t k = 0; k < 4; ++k) {
    buffers_.push_back(std::make_unique<Buffer>());
    const int rank = static_cast<int>(k / 2);
    memory_.add({.name = fmt::format("buffer {} of rank {}", k, rank),
                 .rank = rank,
                 .device = rank,
                 .begin = buffer(k),
                 .bytes = kBytes,
                 .mapped = ~std::uint64_t{0}});
    memory_.initialise(buffer(k), kBytes);
  }
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    Launch launch;
    launch.image = &image_;
    launch.function = &module_->function(fmt::format("rank{}", k));
    launch.grid.x = blocks;
    launch.block.x = threads;
    launch.device = static_cast<int>(k);
    launch.parameters.resize(4 * sizeof(std::uint64_t));
    for (std::size_t b = 0; b < 4; ++b) {
      const auto address = reinterpret_cast<std::uint64_t>(buffer(b));
      std::memcpy(launch.parameters.data() + b * sizeof address, &address, sizeof address);
    }
    launches_.push_back(launch);
    streams_.push_back({static_cast<int>(k), static_cast<int>(k), {{launch, {}}}});
  }
}

std::uint64_t Trial::word(std::size_t buffer, std::size_t index) const {
  std::uint64_t value;
  std::memcpy(&value, buffers_.at(buffer)->data() + index * sizeof value, sizeof value);
  return value;
}

ScheduleResult Trial::run(std::uint64_t seed) {
  for (auto& buffer : buffers_) buffer->fill(std::byte{0});
  return Schedule(memory_, streams_, settings_).run(seed);
}

int Trial::Outcome::count(Defect defect) const {
  return static_cast<int>(
      std::count_if(found.begin(), found.end(), [defect](const auto& one) { return one.first == defect; }));
}

std::string Trial::Outcome::summary() const {
  std::string text = fmt::format("{} clean", clean);
  std::vector<Defect> told;
  for (const auto& [defect, what] : found) {
    if (std::find(told.begin(), told.end(), defect) != told.end()) continue;
    told.push_back(defect);
    text += fmt::format("\n{} times {}", count(defect), what);
  }
  return text;
}

}  // namespace tutti::emulator
