// An MPI library, compiled once for each that is installed.
#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <climits>
#include <stdexcept>

#include "bench/peers/library.hpp"

namespace tutti::bench::peers {
namespace {

MPI_Datatype type_of(DataType type) {
  switch (type) {
    case DataType::f32: return MPI_FLOAT;
    case DataType::f64: return MPI_DOUBLE;
    case DataType::i8: return MPI_INT8_T;
    case DataType::u8: return MPI_UINT8_T;
    case DataType::i32: return MPI_INT32_T;
    case DataType::u32: return MPI_UINT32_T;
    case DataType::i64: return MPI_INT64_T;
    case DataType::u64: return MPI_UINT64_T;
    default: return MPI_DATATYPE_NULL;  // MPI has no half precision
  }
}

MPI_Op op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return MPI_SUM;
    case ReduceOp::prod: return MPI_PROD;
    case ReduceOp::min: return MPI_MIN;
    case ReduceOp::max: return MPI_MAX;
    default: return MPI_OP_NULL;  // nor an average
  }
}

class Mpi : public Library {
 public:
  Mpi() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~Mpi() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string version() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string line(text, static_cast<std::size_t>(length));
    // MPICH: "MPICH Version:\t4.0.2\nMPICH Release date: ..."; Open MPI: "Open MPI v4.1.4, package: ..."
    line.resize(std::min(line.find('\n'), line.find(',')) == std::string::npos
                    ? line.size()
                    : std::min(line.find('\n'), line.find(',')));
    for (char& c : line)
      if (c == '\t') c = ' ';
    return line;
  }

  std::string refusal(const Case& c) const override {
    if (type_of(c.type) == MPI_DATATYPE_NULL) return fmt::format("MPI has no type {}", name_of(c.type));
    if (c.reduces() && op_of(c.op) == MPI_OP_NULL) return fmt::format("MPI has no operator {}", name_of(c.op));
    if (c.count > INT_MAX) return "more elements than an int counts";
    return "";
  }

  void run(const Case& c, const Buffers& b) override {
    const MPI_Comm all = MPI_COMM_WORLD;
    const MPI_Datatype type = type_of(c.type);
    const int count = static_cast<int>(c.count);
    const bool root = rank_ == c.root;
    void* const in = b.in;
    void* const out = b.out;
    // In place, MPI takes the input from where the output will be; a root that scatters has its output there.
    const void* const from = c.in_place ? MPI_IN_PLACE : in;
    switch (c.operation) {
      case Operation::all_reduce: MPI_Allreduce(from, out, count, type, op_of(c.op), all); break;
      case Operation::reduce_scatter:
        MPI_Reduce_scatter_block(from, c.in_place ? in : out, count, type, op_of(c.op), all);
        if (c.in_place) std::copy_n(b.in, c.count * size_of(c.type), b.out);
        break;
      case Operation::all_gather: MPI_Allgather(from, count, type, out, count, type, all); break;
      case Operation::broadcast: MPI_Bcast(in, count, type, c.root, all); break;
      case Operation::reduce:
        MPI_Reduce(c.in_place && root ? MPI_IN_PLACE : in, out, count, type, op_of(c.op), c.root, all);
        break;
      case Operation::gather:
        MPI_Gather(c.in_place && root ? MPI_IN_PLACE : in, count, type, out, count, type, c.root, all);
        break;
      case Operation::scatter:
        MPI_Scatter(in, count, type, c.in_place && root ? MPI_IN_PLACE : out, count, type, c.root, all);
        break;
      case Operation::all_to_all: MPI_Alltoall(in, count, type, out, count, type, all); break;
      case Operation::send_recv: there_and_back(in, out, count, type); break;
      case Operation::barrier: MPI_Barrier(all); break;
    }
  }

 private:
  void there_and_back(void* in, void* out, int count, MPI_Datatype type) const {
    const int peer = rank_ ^ 1;
    if (peer >= size_) return;
    if (rank_ < peer) MPI_Send(in, count, type, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(out, count, type, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank_ > peer) MPI_Send(in, count, type, peer, 0, MPI_COMM_WORLD);
  }

  int rank_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<Library> open_library(int, int, const std::string&) { return std::make_unique<Mpi>(); }

}  // namespace tutti::bench::peers
