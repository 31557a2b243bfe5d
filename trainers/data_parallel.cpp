#include "trainers/data_parallel.hpp"

#include <fmt/format.h>

namespace tutti::trainers {
namespace {

std::size_t most_rows(const TrainerSpec& spec, const Communicator& comm) {
  return static_cast<std::size_t>((spec.batch + comm.size() - 1) / comm.size());
}

}  // namespace

template <class T>
DataParallelTrainer<T>::DataParallelTrainer(const TrainerSpec& spec, Communicator& comm)
    : Trainer<T>(spec, pieces_of(spec.mlp, Parallel::data, comm.rank(), comm.size()),
                 Memory<T>(comm, static_cast<std::size_t>(spec.mlp.parameters()) + 1)),
      comm_(comm),
      stack_(*this->parameters_, static_cast<int>(most_rows(spec, comm))),
      pass_(stack_.make_pass()),
      inputs_(most_rows(spec, comm) * static_cast<std::size_t>(spec.mlp.widths.front())),
      labels_(most_rows(spec, comm)),
      result_gradients_(most_rows(spec, comm) * static_cast<std::size_t>(spec.mlp.widths.back())) {}

template <class T>
void DataParallelTrainer<T>::forward(const Batch<T>& batch) {
  const Range rows = rows_of(batch.rows());
  const auto mine = batch.samples.subspan(static_cast<std::size_t>(rows.begin), static_cast<std::size_t>(rows.size()));
  batch.data->read(mine, inputs_.data());
  batch.data->read_labels(mine, labels_.data());
  stack_.forward(pass_, {inputs_.data(), true}, rows.size());
}

template <class T>
double DataParallelTrainer<T>::compute_local_gradients(const Batch<T>& batch) {
  const int features = stack_.features();
  forward(batch);
  const int rows_of_mean = divides(batch.rows()) ? pass_.rows : batch.rows();
  const double loss = maths::loss(this->spec_.loss, pass_.result(), labels_.data(), features, pass_.rows,
                                  loss_scale(this->spec_.loss, rows_of_mean, features), result_gradients_.data());
  stack_.backward(pass_, false, result_gradients_.data(), nullptr);
  this->parameters_->gradients()[this->parameters_->count()] = static_cast<T>(loss);
  if (this->spec_.trace) this->spec_.trace(fmt::format("rows {}, loss {:.5f}", pass_.rows, loss));
  return loss;
}

template <class T>
double DataParallelTrainer<T>::synchronise(int rows) {
  T* gradients = this->parameters_->gradients();
  const std::size_t count = this->parameters_->count();
  comm_.all_reduce(gradients, gradients, count + 1, divides(rows) ? ReduceOp::avg : ReduceOp::sum);
  return static_cast<double>(gradients[count]);
}

template <class T>
double DataParallelTrainer<T>::compute_gradients(const Batch<T>& batch) {
  compute_local_gradients(batch);
  return synchronise(batch.rows());
}

template <class T>
std::int64_t DataParallelTrainer<T>::correct(const Batch<T>& batch) {
  forward(batch);
  std::int64_t hits = maths::correct(pass_.result(), labels_.data(), stack_.features(), pass_.rows);
  comm_.all_reduce(&hits, &hits, 1, ReduceOp::sum);
  return hits;
}

template class DataParallelTrainer<float>;
template class DataParallelTrainer<double>;

}  // namespace tutti::trainers
