#include "collectives/call_for.hpp"

namespace tutti {

Call call_for(const Request& request, const Plan& plan, int blocks, const Caller& caller) {
  const bool average = request.op == ReduceOp::avg;
  Call call;
  call.count = request.count;
  call.reduction = {request.type, average ? ReduceOp::sum : request.op,
                    average ? static_cast<std::uint32_t>(caller.ranks) : 1};
  call.peer = request.peer;
  call.description = describe(request, plan, blocks);
  set_buffers(call, request, plan.kernel, caller);
  return call;
}

void set_buffers(Call& call, const Request& request, Kernel kernel, const Caller& caller) {
  call.in = static_cast<const char*>(request.in);
  call.out = static_cast<char*>(request.out);
  if (by_packets(kernel) || request.count == 0) return;
  const auto n = static_cast<std::size_t>(caller.ranks);
  const bool broadcasts = request.collective == Collective::broadcast;  // one buffer, in and out on every rank
  if (broadcasts || request.has_in(caller.rank))
    call.in_place = caller.segments.find(request.in, request.bytes_in(n), caller.everyone);
  if (broadcasts || request.has_out(caller.rank))
    call.out_place = caller.segments.find(request.out, request.bytes_out(n), caller.everyone);
  if (!by_multicast(kernel)) return;
  call.in_multicast = caller.segments.multicast_of(call.in_place, caller.everyone);
  call.out_multicast = caller.segments.multicast_of(call.out_place, caller.everyone);
}

}  // namespace tutti
