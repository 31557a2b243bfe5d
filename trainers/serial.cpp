#include "trainers/serial.hpp"

namespace tutti::trainers {

template <class T>
SerialTrainer<T>::SerialTrainer(const TrainerSpec& spec)
    : Trainer<T>(spec, pieces_of(spec.mlp, Parallel::serial, 0, 1),
                 Memory<T>(static_cast<std::size_t>(spec.mlp.parameters()))),
      stack_(*this->parameters_, spec.batch),
      pass_(stack_.make_pass()),
      inputs_(static_cast<std::size_t>(spec.batch) * static_cast<std::size_t>(spec.mlp.widths.front())),
      labels_(static_cast<std::size_t>(spec.batch)),
      result_gradients_(static_cast<std::size_t>(spec.batch) * static_cast<std::size_t>(spec.mlp.widths.back())) {}

template <class T>
void SerialTrainer<T>::forward(const Batch<T>& batch) {
  batch.data->read(batch.samples, inputs_.data());
  batch.data->read_labels(batch.samples, labels_.data());
  stack_.forward(pass_, {inputs_.data(), true}, batch.rows());
}

template <class T>
double SerialTrainer<T>::compute_gradients(const Batch<T>& batch) {
  const int features = stack_.features();
  forward(batch);
  const double loss = maths::loss(this->spec_.loss, pass_.result(), labels_.data(), features, batch.rows(),
                                  loss_scale(this->spec_.loss, batch.rows(), features), result_gradients_.data());
  stack_.backward(pass_, false, result_gradients_.data(), nullptr);
  return loss;
}

template <class T>
std::int64_t SerialTrainer<T>::correct(const Batch<T>& batch) {
  forward(batch);
  return maths::correct(pass_.result(), labels_.data(), stack_.features(), batch.rows());
}

template class SerialTrainer<float>;
template class SerialTrainer<double>;

}  // namespace tutti::trainers
