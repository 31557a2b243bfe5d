#include "trainers/data_parallel.hpp"

#include <fmt/format.h>

namespace tutti::trainers {
namespace {

int most_rows(const TrainerSpec& spec, const Communicator& comm) {
  return (spec.batch + comm.size() - 1) / comm.size();
}

}  // namespace

template <class T>
DataParallelTrainer<T>::DataParallelTrainer(Maths<T>& maths, const TrainerSpec& spec, Communicator& comm)
    : Trainer<T>(maths, spec, pieces_of(spec.mlp, Parallel::data, comm.rank(), comm.size()),
                 Memory<T>(comm, static_cast<std::size_t>(spec.mlp.parameters()) + 1)),
      comm_(comm),
      feed_(maths, most_rows(spec, comm)),
      stack_(maths, *this->parameters_, most_rows(spec, comm)),
      pass_(stack_.make_pass()),
      inputs_(maths.device(), elements(spec.mlp.widths.front(), most_rows(spec, comm))),
      labels_(maths.device(), static_cast<std::size_t>(most_rows(spec, comm))),
      result_gradients_(maths.device(), elements(spec.mlp.widths.back(), most_rows(spec, comm))),
      loss_(maths.device(), 1),
      hits_(maths.device(), 1) {}

template <class T>
void DataParallelTrainer<T>::forward(const Batch<T>& batch) {
  const Range rows = rows_of(batch.rows());
  const auto mine = batch.samples.subspan(static_cast<std::size_t>(rows.begin), static_cast<std::size_t>(rows.size()));
  feed_.read(*batch.data, mine, inputs_.data());
  feed_.read_labels(*batch.data, mine, labels_.data());
  stack_.forward(pass_, {inputs_.data(), true}, rows.size());
}

template <class T>
void DataParallelTrainer<T>::enqueue_local_gradients(const Batch<T>& batch) {
  const int features = stack_.features();
  forward(batch);
  const int rows_of_mean = divides(batch.rows()) ? pass_.rows : batch.rows();
  this->device().zero(loss_.data(), sizeof(double));
  this->maths_.loss(this->spec_.loss, pass_.result(), labels_.data(), features, pass_.rows,
                    loss_scale(this->spec_.loss, rows_of_mean, features), result_gradients_.data(), loss_.data());
  stack_.backward(pass_, false, result_gradients_.data(), nullptr);
  this->maths_.store(loss_.data(), this->parameters_->gradients() + this->parameters_->count());
  if (this->spec_.trace)
    this->spec_.trace(fmt::format("rows {}, loss {:.5f}", pass_.rows, this->download(loss_.data())));
}

template <class T>
double DataParallelTrainer<T>::compute_local_gradients(const Batch<T>& batch) {
  enqueue_local_gradients(batch);
  return this->download(loss_.data());
}

template <class T>
void DataParallelTrainer<T>::synchronise(int rows) {
  T* gradients = this->parameters_->gradients();
  comm_.all_reduce(gradients, gradients, this->parameters_->count() + 1, divides(rows) ? ReduceOp::avg : ReduceOp::sum,
                   this->options());
}

template <class T>
void DataParallelTrainer<T>::enqueue_gradients(const Batch<T>& batch) {
  enqueue_local_gradients(batch);
  synchronise(batch.rows());
}

template <class T>
double DataParallelTrainer<T>::read_loss() {
  return static_cast<double>(this->download(this->parameters_->gradients() + this->parameters_->count()));
}

template <class T>
std::int64_t DataParallelTrainer<T>::correct(const Batch<T>& batch) {
  forward(batch);
  this->device().zero(hits_.data(), sizeof(std::int64_t));
  this->maths_.correct(pass_.result(), labels_.data(), stack_.features(), pass_.rows, hits_.data());
  comm_.all_reduce(hits_.data(), hits_.data(), 1, ReduceOp::sum, this->options());
  return this->download(hits_.data());
}

template class DataParallelTrainer<float>;
template class DataParallelTrainer<double>;

}  // namespace tutti::trainers
