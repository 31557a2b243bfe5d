// The collectives, sends and receives of nccl.h.
#include <fmt/format.h>

#include "collectives/arguments.hpp"
#include "collectives/nccl_interface/group.hpp"
#include "collectives/nccl_interface/types.hpp"

namespace tutti::nccl_interface {
namespace {

/// tutti's own check, less what NCCL's contract has no word about: messages to the own rank, and overlapping buffers of
/// an all-to-all or of messages, which get what they get.
void check_arguments(const ncclComm& communicator, Request request, ncclDataType_t type) {
  request.type = moved_type(type);  // of the size that it has in memory
  const int rank = communicator.rank(), size = communicator.size();
  const bool may_overlap = request.collective == Collective::all_to_all;
  if (!may_overlap && !(request.is_message() && request.peer == rank)) return validate(request, rank, size);
  if (request.has_in(rank)) require(request.in, "sendbuff");
  if (request.has_out(rank)) require(request.out, "recvbuff");
}

/// What a function of nccl.h is given.
struct Arguments {
  const char* function;
  Collective collective;
  const void* in;
  void* out;
  std::size_t count;
  ncclDataType_t type;
  ncclComm_t comm;
  cudaStream_t stream;
  int op = ncclSum;
  int peer = -1;  ///< or root
};

void set_operator(Call& call, const Arguments& given) {
  Request& request = call.request;
  if (is_8_bit_float(given.type)) call.narrow = given.type;
  if (given.op >= ncclNumOps) call.scaling = call.communicator->scalings.find(given.op);
  if (call.scaling) {
    if (call.scaling->type != given.type)
      throw Refusal(ncclInvalidArgument,
                    fmt::format("operator {} was made for datatype {}, the call has {}", given.op,
                                static_cast<int>(call.scaling->type), static_cast<int>(given.type)));
    return;
  }
  request.op = operator_of(given.op);
  // NCCL's integers are averaged as they are added up: in their own type, which may wrap. tutti's do not wrap.
  if (request.op != ReduceOp::avg || !is_integer(request.type)) return;
  request.op = ReduceOp::sum;
  call.divides = call.communicator->size() > 1;
}

ncclResult_t issue(const Arguments& given) {
  return answer_in_group(given.function, [&] {
    Call call;
    call.communicator = communicator(given.comm);
    call.communicator->require_ready();
    Request& request = call.request;
    request = {.collective = given.collective,
               .in = given.in,
               .out = given.out,
               .count = given.count,
               .peer = given.peer,
               .stream = given.stream};
    request.type = request.reduces() ? computed_type(given.type) : moved_type(given.type);
    if (request.reduces()) set_operator(call, given);
    if (request.is_rooted() || request.is_message()) {
      const int size = call.communicator->size();
      if (request.peer < 0 || request.peer >= size)
        throw Refusal(ncclInvalidArgument, fmt::format("{} {} is not a rank; there are 0 to {}",
                                                       request.is_message() ? "peer" : "root", request.peer, size - 1));
    }
    if (request.count == 0) return ncclSuccess;
    check_arguments(*call.communicator, request, given.type);
    add(std::move(call));
    return ncclSuccess;
  });
}

}  // namespace
}  // namespace tutti::nccl_interface

using tutti::Collective;
using namespace tutti::nccl_interface;

extern "C" {

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return issue({__func__, Collective::all_reduce, sendbuff, recvbuff, count, datatype, comm, stream, op});
}

ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return issue({__func__, Collective::reduce, sendbuff, recvbuff, count, datatype, comm, stream, op, root});
}

ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return issue({__func__, Collective::reduce_scatter, sendbuff, recvbuff, recvcount, datatype, comm, stream, op});
}

ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return issue({__func__, Collective::broadcast, sendbuff, recvbuff, count, datatype, comm, stream, ncclSum, root});
}

ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return issue({__func__, Collective::broadcast, buff, buff, count, datatype, comm, stream, ncclSum, root});
}

ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream) {
  return issue({__func__, Collective::all_gather, sendbuff, recvbuff, sendcount, datatype, comm, stream});
}

ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclComm_t comm,
                          cudaStream_t stream) {
  return issue({__func__, Collective::all_to_all, sendbuff, recvbuff, count, datatype, comm, stream});
}

ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return issue({__func__, Collective::gather, sendbuff, recvbuff, count, datatype, comm, stream, ncclSum, root});
}

ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                         ncclComm_t comm, cudaStream_t stream) {
  return issue({__func__, Collective::scatter, sendbuff, recvbuff, count, datatype, comm, stream, ncclSum, root});
}

ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return issue({__func__, Collective::send, sendbuff, nullptr, count, datatype, comm, stream, ncclSum, peer});
}

ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return issue({__func__, Collective::recv, nullptr, recvbuff, count, datatype, comm, stream, ncclSum, peer});
}

}  // extern "C"
