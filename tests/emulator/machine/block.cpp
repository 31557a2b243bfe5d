#include "tests/emulator/machine/block.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::emulator {
namespace {

bool calls_others(const Function& function) { return !function.calls.empty(); }

std::span<std::byte> aligned(std::vector<std::byte>& storage, std::size_t bytes, std::size_t alignment) {
  storage.assign(bytes + alignment, std::byte{0xa5});  // nobody may rely on zeros
  const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
  return {storage.data() + (alignment - address % alignment) % alignment, bytes};
}

}  // namespace

Block::Block(const Launch& launch, Dim3 index, std::uint32_t first_id, std::uint32_t multiprocessor)
    : launch_(&launch), index_(index), multiprocessor_(multiprocessor) {
  const Function& function = *launch.function;
  const std::uint64_t count = launch.block.product();
  if (count == 0 || count > 1024)
    throw std::runtime_error(fmt::format("{}: a block of {} threads", function.name, count));
  if (function.max_threads != 0 && count > function.max_threads)
    throw std::runtime_error(
        fmt::format("{}: a block of {} threads, compiled for {}", function.name, count, function.max_threads));
  if (launch.parameters.size() != function.parameter_bytes)
    throw std::runtime_error(fmt::format("{}: {} bytes of parameters, not {}", function.name, launch.parameters.size(),
                                         function.parameter_bytes));
  running_ = static_cast<std::uint32_t>(count);
  shared_ = aligned(shared_storage_, (function.shared_bytes + 127u) / 128 * 128 + launch.dynamic_shared, 256);
  local_bytes_ = calls_others(function) ? std::max<std::size_t>(kStack, function.local_bytes)
                                        : (function.local_bytes + 15u) / 16 * 16;
  stack_.assign(local_bytes_ * count, std::byte{0xa5});
  slots_.assign(function.slots * count, 0xa5a5a5a5a5a5a5a4u);  // even: an unwritten predicate is false
  threads_.resize(count);
  for (std::uint32_t i = 0; i < running_; ++i) {
    Thread& thread = threads_[i];
    thread.index = i;
    thread.id = first_id + i;
    thread.block = this;
    thread.slots = slots_.data() + std::size_t{i} * function.slots;
    begin(thread, function);
  }
}

std::span<Thread> Block::warp(const Thread& thread) {
  const std::size_t first = thread.index & ~31u;
  return {threads_.data() + first, std::min<std::size_t>(32, threads_.size() - first)};
}

std::span<std::byte> Block::local(const Thread& thread) {
  return {stack_.data() + local_bytes_ * thread.index, local_bytes_};
}

void Block::fill_special(Thread& thread, std::uint32_t multiprocessor) {
  std::uint64_t* const r = thread.slots;
  const Dim3 &block = launch_->block, &grid = launch_->grid;
  const std::uint32_t i = thread.index, lane = thread.lane();
  r[tid_x] = i % block.x, r[tid_y] = i / block.x % block.y, r[tid_z] = i / (block.x * block.y);
  r[ntid_x] = block.x, r[ntid_y] = block.y, r[ntid_z] = block.z;
  r[ctaid_x] = index_.x, r[ctaid_y] = index_.y, r[ctaid_z] = index_.z;
  r[nctaid_x] = grid.x, r[nctaid_y] = grid.y, r[nctaid_z] = grid.z;
  r[laneid] = lane, r[warpid] = i / 32, r[nwarpid] = (block.product() + 31) / 32;
  r[smid] = multiprocessor, r[nsmid] = launch_->multiprocessors, r[gridid] = launch_->grid_id;
  const std::uint32_t own = 1u << lane, below = own - 1;
  r[lanemask_eq] = own, r[lanemask_lt] = below, r[lanemask_le] = below | own;
  r[lanemask_gt] = ~(below | own), r[lanemask_ge] = ~below;
  r[dynamic_smem_size] = launch_->dynamic_shared, r[total_smem_size] = shared_.size();
}

void Block::begin(Thread& thread, const Function& function) {
  thread.function = &function;
  thread.next = 0;
  fill_special(thread, multiprocessor_);
  for (const Constant& constant : function.constants) {
    std::uint64_t value = constant.value;
    switch (constant.of) {
      case Constant::Of::literal:
      case Constant::Of::shared:
      case Constant::Of::parameter: break;
      case Constant::Of::variable: value += launch_->image->variables.at(constant.symbol); break;
      case Constant::Of::local: value += thread.local; break;
      case Constant::Of::function:
        throw std::runtime_error(
            fmt::format("{}: the address of a function is taken; the emulator has no indirect calls", function.name));
    }
    thread.slots[constant.slot] = value;
  }
}

std::string where(const Thread& thread) {
  const Block& block = *thread.block;
  const Module& module = *block.launch().image->module;
  const Instruction& instruction = thread.instruction();
  return fmt::format("GPU {} block {} thread {} of {} at PTX line {} ({}): {}", block.launch().device, block.linear(),
                     thread.index, thread.function->name, instruction.line,
                     module.source(*thread.function, instruction), module.text(instruction));
}

AssertionFailed::AssertionFailed(const Thread& thread, std::string_view condition, std::string_view file,
                                 std::uint32_t line, std::string_view function)
    : Fault(thread, fmt::format("assertion `{}' failed ({}:{}: {})", condition, file, line, function)) {
  const Dim3 block = thread.block->index();
  const std::uint64_t* const special = thread.slots;
  report_ = fmt::format("{}:{}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.", file, line, function,
                        block.x, block.y, block.z, special[tid_x], special[tid_y], special[tid_z], condition);
}

std::string Fault::describe(const Thread& thread, const std::string& what) {
  return fmt::format("{}; {}", what, where(thread));
}

}  // namespace tutti::emulator
