#include "collectives/mpi_types.hpp"

#include "collectives/mpi_environment.hpp"
#include "kernels/host_loops.hpp"

namespace tutti {
namespace {

constexpr DataType kHalves[] = {DataType::f16, DataType::bf16};
constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max};

template <DataType type, ReduceOp op>
void combine_halves(void* in, void* inout, int* count, MPI_Datatype*) {
  const char* srcs[] = {static_cast<const char*>(in), static_cast<const char*>(inout)};
  char* dsts[] = {static_cast<char*>(inout)};
  host::loops().reduce(dsts, 1, srcs, 2, static_cast<std::size_t>(*count), {.type = type, .op = op},
                       host::Stores::cached);
}

template <DataType type>
MPI_User_function* half_function(ReduceOp op) {
  switch (op) {
    case ReduceOp::prod: return combine_halves<type, ReduceOp::prod>;
    case ReduceOp::min: return combine_halves<type, ReduceOp::min>;
    case ReduceOp::max: return combine_halves<type, ReduceOp::max>;
    default: return combine_halves<type, ReduceOp::sum>;
  }
}

}  // namespace

MPI_Datatype mpi_type(DataType type) {
  switch (type) {
    case DataType::f32: return MPI_FLOAT;
    case DataType::f64: return MPI_DOUBLE;
    case DataType::i8: return MPI_INT8_T;
    case DataType::u8: return MPI_UINT8_T;
    case DataType::i32: return MPI_INT32_T;
    case DataType::u32: return MPI_UINT32_T;
    case DataType::i64: return MPI_INT64_T;
    case DataType::u64: return MPI_UINT64_T;
    default: return MPI_UINT16_T;
  }
}

MpiOps::MpiOps() {
  for (auto& row : ops_) {
    row[static_cast<int>(ReduceOp::sum)] = MPI_SUM;
    row[static_cast<int>(ReduceOp::prod)] = MPI_PROD;
    row[static_cast<int>(ReduceOp::min)] = MPI_MIN;
    row[static_cast<int>(ReduceOp::max)] = MPI_MAX;
    row[static_cast<int>(ReduceOp::avg)] = MPI_OP_NULL;
  }
  constexpr int kCommutative = 1;
  for (DataType type : kHalves) {
    for (ReduceOp op : kOps) {
      auto* function = type == DataType::f16 ? half_function<DataType::f16>(op) : half_function<DataType::bf16>(op);
      check_mpi(MPI_Op_create(function, kCommutative, &ops_[static_cast<int>(type)][static_cast<int>(op)]),
                "MPI_Op_create");
    }
  }
}

MpiOps::~MpiOps() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  for (DataType type : kHalves) {
    for (ReduceOp op : kOps) MPI_Op_free(&ops_[static_cast<int>(type)][static_cast<int>(op)]);
  }
}

}  // namespace tutti
