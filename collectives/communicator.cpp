#include "collectives/arguments.hpp"
#include "collectives/session_state.hpp"

namespace tutti {
namespace {

Request request_for(const PointToPoint& operation, const Options& options) {
  return {.collective = operation.kind,
          .in = operation.in,
          .out = operation.out,
          .count = operation.count,
          .type = operation.type,
          .peer = operation.peer,
          .algorithm = options.algorithm,
          .stream = options.stream};
}

/// `state`, of which `call` has need.
const detail::CommunicatorState& present(const std::shared_ptr<detail::CommunicatorState>& state, const char* call) {
  if (!state) throw Error(ErrorCode::invalid_argument, std::string(call) + ": this communicator is empty");
  return *state;
}

void check(const std::shared_ptr<detail::CommunicatorState>& state, const Request& request) {
  const detail::CommunicatorState& communicator = present(state, name_of(request.collective));
  if (request.stream && !communicator.session->on_gpu)
    throw Error(ErrorCode::invalid_argument,
                std::string(name_of(request.collective)) +
                    ": a stream was given, but this session runs on the CPU; leave it null");
  validate(request, communicator.bootstrap->rank(), communicator.bootstrap->size());
}

/// `part`, with the communicator that it belongs to kept alive as long.
template <class T>
std::shared_ptr<T> keeping(std::shared_ptr<detail::CommunicatorState> state, std::shared_ptr<T> part) {
  struct Both {
    std::shared_ptr<detail::CommunicatorState> state;
    std::shared_ptr<T> part;
  };
  T* const alias = part.get();
  return std::shared_ptr<T>(std::make_shared<Both>(Both{std::move(state), std::move(part)}), alias);
}

void run(const std::shared_ptr<detail::CommunicatorState>& state, const Request& request) {
  check(state, request);
  state->backend->run(request);
}

Handle start(const std::shared_ptr<detail::CommunicatorState>& state, const Request& request) {
  check(state, request);
  return Handle(keeping(state, state->backend->start(request)));
}

std::vector<Request> requests_for(const std::shared_ptr<detail::CommunicatorState>& state,
                                  std::span<const PointToPoint> operations, const Options& options) {
  const int rank = present(state, "group").bootstrap->rank();
  std::vector<Request> requests;
  for (const PointToPoint& operation : operations) {
    requests.push_back(request_for(operation, options));
    if (!requests.back().is_message())
      throw Error(ErrorCode::invalid_argument, "group on rank " + std::to_string(rank) + ": " +
                                                   name_of(operation.kind) +
                                                   " is no send or recv; call it on the communicator instead");
    check(state, requests.back());
  }
  validate_group(requests, rank);
  return requests;
}

}  // namespace

Handle::Handle(std::shared_ptr<detail::Operation> operation) : operation_(std::move(operation)) {}

Handle& Handle::operator=(Handle&& other) {
  if (this != &other) {
    Handle ended(std::move(*this));
    operation_ = std::move(other.operation_);
  }
  return *this;
}

Handle::~Handle() {
  try {
    wait();
  } catch (const Error&) {  // the communicator stays failed: its next call says so
  }
}

void Handle::wait() {
  if (const auto operation = std::move(operation_)) operation->wait();
}

bool Handle::test() {
  if (!operation_) return true;
  try {
    if (!operation_->test()) return false;
  } catch (...) {
    operation_.reset();
    throw;
  }
  operation_.reset();
  return true;
}

void Group::run(const Options& options) {
  const auto operations = std::move(operations_);
  operations_.clear();
  communicator_->run_group(operations, options);
}

Handle Group::start(const Options& options) {
  const auto operations = std::move(operations_);
  operations_.clear();
  return communicator_->start_group(operations, options);
}

int Communicator::rank() const { return present(state_, "rank").bootstrap->rank(); }
int Communicator::size() const { return present(state_, "size").bootstrap->size(); }
BackendKind Communicator::backend() const { return present(state_, "backend").backend->kind(); }
std::size_t Communicator::arena_bytes() const { return present(state_, "arena_bytes").backend->arena_bytes(); }

std::pair<std::shared_ptr<detail::SegmentOwner>, void*> Communicator::allocate_bytes(std::size_t count,
                                                                                     std::size_t element_bytes) {
  const std::size_t bytes = count > SIZE_MAX / element_bytes ? SIZE_MAX : count * element_bytes;
  const detail::CommunicatorState& state = present(state_, "allocate");
  auto [owner, data] = state.backend->allocate(*state.bootstrap, bytes);
  return {keeping(state_, std::move(owner)), data};
}

Registration Communicator::register_memory(void* memory, std::size_t bytes) {
  const detail::CommunicatorState& state = present(state_, "register_memory");
  auto owner = state.backend->register_memory(*state.bootstrap, memory, bytes);
  const bool mapped = owner != nullptr;
  return {mapped ? keeping(state_, std::move(owner)) : nullptr, mapped};
}

void Communicator::copy(void* to, const void* from, std::size_t bytes) const {
  present(state_, "copy").backend->copy(to, from, bytes);
}

void Communicator::run_group(std::span<const PointToPoint> operations, const Options& options) {
  const auto requests = requests_for(state_, operations, options);
  if (!requests.empty()) state_->backend->run_group(requests);
}

Handle Communicator::start_group(std::span<const PointToPoint> operations, const Options& options) {
  const auto requests = requests_for(state_, operations, options);
  if (requests.empty()) return Handle();
  return Handle(keeping(state_, state_->backend->start_group(requests)));
}

Choice Communicator::choice(Collective collective, std::size_t bytes, DataType type, ReduceOp op,
                            const Options& options) const {
  const Backend& backend = *present(state_, "choice").backend;
  Request request{.collective = collective, .type = type, .op = op, .peer = 0, .algorithm = options.algorithm};
  const bool spreads = request.spreads_in() || request.spreads_out();
  request.count = bytes / size_of(type) / (spreads ? static_cast<std::size_t>(size()) : 1);
  return backend.choice(request);
}

void Communicator::all_reduce(const void* in, void* out, std::size_t count, DataType type, ReduceOp op,
                              const Options& options) {
  run(state_, {Collective::all_reduce, in, out, count, type, op, -1, options.algorithm, options.stream});
}
Handle Communicator::all_reduce_async(const void* in, void* out, std::size_t count, DataType type, ReduceOp op,
                                      const Options& options) {
  return start(state_, {Collective::all_reduce, in, out, count, type, op, -1, options.algorithm, options.stream});
}

void Communicator::reduce_scatter(const void* in, void* out, std::size_t count, DataType type, ReduceOp op,
                                  const Options& options) {
  run(state_, {Collective::reduce_scatter, in, out, count, type, op, -1, options.algorithm, options.stream});
}
Handle Communicator::reduce_scatter_async(const void* in, void* out, std::size_t count, DataType type, ReduceOp op,
                                          const Options& options) {
  return start(state_, {Collective::reduce_scatter, in, out, count, type, op, -1, options.algorithm, options.stream});
}

void Communicator::all_gather(const void* in, void* out, std::size_t count, DataType type, const Options& options) {
  run(state_, {Collective::all_gather, in, out, count, type, ReduceOp::sum, -1, options.algorithm, options.stream});
}
Handle Communicator::all_gather_async(const void* in, void* out, std::size_t count, DataType type,
                                      const Options& options) {
  return start(state_,
               {Collective::all_gather, in, out, count, type, ReduceOp::sum, -1, options.algorithm, options.stream});
}

void Communicator::broadcast(void* data, std::size_t count, DataType type, int root, const Options& options) {
  run(state_, {Collective::broadcast, data, data, count, type, ReduceOp::sum, root, options.algorithm, options.stream});
}
Handle Communicator::broadcast_async(void* data, std::size_t count, DataType type, int root, const Options& options) {
  return start(
      state_, {Collective::broadcast, data, data, count, type, ReduceOp::sum, root, options.algorithm, options.stream});
}

void Communicator::reduce(const void* in, void* out, std::size_t count, DataType type, ReduceOp op, int root,
                          const Options& options) {
  run(state_, {Collective::reduce, in, out, count, type, op, root, options.algorithm, options.stream});
}
Handle Communicator::reduce_async(const void* in, void* out, std::size_t count, DataType type, ReduceOp op, int root,
                                  const Options& options) {
  return start(state_, {Collective::reduce, in, out, count, type, op, root, options.algorithm, options.stream});
}

void Communicator::gather(const void* in, void* out, std::size_t count, DataType type, int root,
                          const Options& options) {
  run(state_, {Collective::gather, in, out, count, type, ReduceOp::sum, root, options.algorithm, options.stream});
}
Handle Communicator::gather_async(const void* in, void* out, std::size_t count, DataType type, int root,
                                  const Options& options) {
  return start(state_,
               {Collective::gather, in, out, count, type, ReduceOp::sum, root, options.algorithm, options.stream});
}

void Communicator::scatter(const void* in, void* out, std::size_t count, DataType type, int root,
                           const Options& options) {
  run(state_, {Collective::scatter, in, out, count, type, ReduceOp::sum, root, options.algorithm, options.stream});
}
Handle Communicator::scatter_async(const void* in, void* out, std::size_t count, DataType type, int root,
                                   const Options& options) {
  return start(state_,
               {Collective::scatter, in, out, count, type, ReduceOp::sum, root, options.algorithm, options.stream});
}

void Communicator::all_to_all(const void* in, void* out, std::size_t count, DataType type, const Options& options) {
  run(state_, {Collective::all_to_all, in, out, count, type, ReduceOp::sum, -1, options.algorithm, options.stream});
}
Handle Communicator::all_to_all_async(const void* in, void* out, std::size_t count, DataType type,
                                      const Options& options) {
  return start(state_,
               {Collective::all_to_all, in, out, count, type, ReduceOp::sum, -1, options.algorithm, options.stream});
}

void Communicator::barrier(const Options& options) {
  run(state_, {.algorithm = options.algorithm, .stream = options.stream});
}
Handle Communicator::barrier_async(const Options& options) {
  return start(state_, {.algorithm = options.algorithm, .stream = options.stream});
}

void Communicator::send(const void* data, std::size_t count, DataType type, int peer, const Options& options) {
  run(state_, request_for({Collective::send, data, nullptr, count, type, peer}, options));
}
Handle Communicator::isend(const void* data, std::size_t count, DataType type, int peer, const Options& options) {
  return start(state_, request_for({Collective::send, data, nullptr, count, type, peer}, options));
}
void Communicator::recv(void* data, std::size_t count, DataType type, int peer, const Options& options) {
  run(state_, request_for({Collective::recv, nullptr, data, count, type, peer}, options));
}
Handle Communicator::irecv(void* data, std::size_t count, DataType type, int peer, const Options& options) {
  return start(state_, request_for({Collective::recv, nullptr, data, count, type, peer}, options));
}

}  // namespace tutti
