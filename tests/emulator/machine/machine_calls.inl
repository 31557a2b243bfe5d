// Calls of device functions: frames, arguments and results.
#pragma once
#include "tests/emulator/machine/machine.hpp"

namespace tutti::emulator {

template <class Memory>
void Machine<Memory>::call(Thread& t, const Instruction& i) {
  const CallSite& site = t.function->calls[static_cast<std::size_t>(i.target)];
  if (site.callee.empty()) throw Fault(t, "an indirect call, which the emulator does not have");
  const std::span<std::byte> frame = t.block->local(t).subspan(t.local);
  const Module& module = *t.block->launch().image->module;
  const Function* const callee = module.contains(site.callee) ? &module.function(site.callee) : nullptr;
  if (!callee || !callee->defined) {
    const std::uint64_t result = call_provided(t, site, frame);
    if (!site.results.empty())
      std::memcpy(frame.data() + site.results[0].offset, &result, std::min<std::size_t>(8, site.results[0].bytes));
    ++t.next;
    return;
  }
  std::vector<std::byte> parameters(callee->parameter_bytes);
  for (std::size_t k = 0; k < site.arguments.size(); ++k)
    std::memcpy(parameters.data() + callee->parameters[k].offset, frame.data() + site.arguments[k].offset,
                callee->parameters[k].bytes);
  const std::uint32_t local = (t.local + t.function->local_bytes + 15) / 16 * 16;
  if (local + callee->local_bytes > t.block->local(t).size()) throw Fault(t, "the stack is full");
  t.frames.push_back({t.function, t.next, t.slots, t.local, std::move(t.parameters),
                      std::make_unique<std::uint64_t[]>(callee->slots)});
  t.parameters = std::move(parameters);
  t.local = local;
  t.slots = t.frames.back().called.get();
  t.block->begin(t, *callee);
}

template <class Memory>
void Machine<Memory>::leave(Thread& t) {
  Frame frame = std::move(t.frames.back());
  t.frames.pop_back();
  const CallSite& site =
      frame.function
          ->calls[static_cast<std::size_t>(frame.function->code[static_cast<std::size_t>(frame.next)].target)];
  std::byte* const stack = t.block->local(t).data();
  for (std::size_t k = 0; k < site.results.size(); ++k)
    std::memcpy(stack + frame.local + site.results[k].offset, stack + t.local + t.function->results[k].offset,
                t.function->results[k].bytes);
  t.function = frame.function;
  t.next = frame.next + 1;
  t.slots = frame.slots;
  t.local = frame.local;
  t.parameters = std::move(frame.parameters);
}

}  // namespace tutti::emulator
