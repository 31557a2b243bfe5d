#include "trainers/trainer.hpp"

#include <fmt/format.h>

#include "trainers/data_parallel.hpp"
#include "trainers/pipeline_parallel.hpp"
#include "trainers/serial.hpp"
#include "trainers/tensor_parallel.hpp"

namespace tutti::trainers {

template <class T>
std::unique_ptr<Trainer<T>> make_trainer(Parallel layout, Maths<T>& maths, const TrainerSpec& spec,
                                         Communicator* comm) {
  switch (layout) {
    case Parallel::data: return std::make_unique<DataParallelTrainer<T>>(maths, spec, *comm);
    case Parallel::tensor: return std::make_unique<TensorParallelTrainer<T>>(maths, spec, *comm);
    case Parallel::pipeline: return std::make_unique<PipelineTrainer<T>>(maths, spec, *comm);
    default: return std::make_unique<SerialTrainer<T>>(maths, spec);
  }
}

template <class T>
std::string summary(Device& device, int rows, int features, const T* values) {
  if (rows == 0 || features == 0) return fmt::format("{}x{}[]", rows, features);
  T first;
  device.download(&first, values, sizeof first);
  return fmt::format("{}x{}[{:.4f}...]", rows, features, static_cast<double>(first));
}

template std::unique_ptr<Trainer<float>> make_trainer(Parallel, Maths<float>&, const TrainerSpec&, Communicator*);
template std::unique_ptr<Trainer<double>> make_trainer(Parallel, Maths<double>&, const TrainerSpec&, Communicator*);
template std::string summary(Device&, int, int, const float*);
template std::string summary(Device&, int, int, const double*);

}  // namespace tutti::trainers
