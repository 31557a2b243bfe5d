#include "trainers/trainer.hpp"

#include <fmt/format.h>

#include "trainers/data_parallel.hpp"
#include "trainers/pipeline_parallel.hpp"
#include "trainers/serial.hpp"
#include "trainers/tensor_parallel.hpp"

namespace tutti::trainers {

template <class T>
std::unique_ptr<Trainer<T>> make_trainer(Parallel layout, const TrainerSpec& spec, Communicator* comm) {
  switch (layout) {
    case Parallel::data: return std::make_unique<DataParallelTrainer<T>>(spec, *comm);
    case Parallel::tensor: return std::make_unique<TensorParallelTrainer<T>>(spec, *comm);
    case Parallel::pipeline: return std::make_unique<PipelineTrainer<T>>(spec, *comm);
    default: return std::make_unique<SerialTrainer<T>>(spec);
  }
}

template <class T>
std::string summary(int rows, int features, const T* values) {
  if (rows == 0 || features == 0) return fmt::format("{}x{}[]", rows, features);
  return fmt::format("{}x{}[{:.4f}...]", rows, features, static_cast<double>(values[0]));
}

template std::unique_ptr<Trainer<float>> make_trainer(Parallel, const TrainerSpec&, Communicator*);
template std::unique_ptr<Trainer<double>> make_trainer(Parallel, const TrainerSpec&, Communicator*);
template std::string summary(int, int, const float*);
template std::string summary(int, int, const double*);

}  // namespace tutti::trainers
