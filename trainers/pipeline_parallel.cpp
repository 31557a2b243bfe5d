#include "trainers/pipeline_parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>

namespace tutti::trainers {
namespace {

int most_rows(const TrainerSpec& spec) {
  const int micro_batches = std::min(spec.micro_batches, spec.batch);
  return (spec.batch + micro_batches - 1) / micro_batches;
}

}  // namespace

template <class T>
PipelineTrainer<T>::PipelineTrainer(Maths<T>& maths, const TrainerSpec& spec, Communicator& comm)
    : Trainer<T>(
          maths, spec, pieces_of(spec.mlp, Parallel::pipeline, comm.rank(), comm.size()),
          Memory<T>(maths.device(), parameters_of(pieces_of(spec.mlp, Parallel::pipeline, comm.rank(), comm.size())))),
      comm_(comm),
      most_rows_(most_rows(spec)),
      feed_(maths, spec.batch),
      stack_(maths, *this->parameters_, most_rows_),
      labels_(maths.device(), static_cast<std::size_t>(spec.batch)),
      loss_(maths.device(), 1),
      hits_(maths.device(), 1) {
  const int micro_batches = std::min(spec.micro_batches, spec.batch);
  const Verdict verdict = validate(make_schedule(spec.schedule, comm.size(), micro_batches));
  if (!verdict.error.empty()) throw Error(ErrorCode::invalid_argument, "pipeline schedule: " + verdict.error);
  slots_.resize(static_cast<std::size_t>(verdict.peak_activations[static_cast<std::size_t>(comm.rank())]));
  for (Slot& slot : slots_) {
    slot.pass = stack_.make_pass();
    slot.input = Memory<T>(maths.device(), elements(inputs(), most_rows_));
    slot.result_gradients = Memory<T>(maths.device(), elements(stack_.features(), most_rows_));
  }
  if (!is_first())
    for (auto& buffer : to_previous_) buffer.data = Memory<T>(maths.device(), elements(inputs(), most_rows_));
}

template <class T>
const std::vector<Action>& PipelineTrainer<T>::actions(int micro_batches, bool forward_only) {
  auto [at, is_new] = actions_.try_emplace({micro_batches, forward_only});
  if (is_new) {
    Schedule schedule = forward_only ? make_forward_schedule(comm_.size(), micro_batches)
                                     : make_schedule(this->spec_.schedule, comm_.size(), micro_batches);
    assert(validate(schedule, forward_only).error.empty());
    at->second = std::move(schedule.stages[static_cast<std::size_t>(comm_.rank())]);
  }
  return at->second;
}

template <class T>
Range PipelineTrainer<T>::rows_of(int micro_batch, int rows) const {
  return part_of(rows, micro_batch, micro_batches_);
}

template <class T>
typename PipelineTrainer<T>::Slot& PipelineTrainer<T>::take_slot(int micro_batch) {
  for (Slot& slot : slots_)
    if (slot.micro_batch < 0) {
      slot.sending.finish(this->device());
      slot.micro_batch = micro_batch;
      return slot;
    }
  throw Error(ErrorCode::invalid_argument, fmt::format("no slot for micro-batch {}", micro_batch));
}

template <class T>
typename PipelineTrainer<T>::Slot& PipelineTrainer<T>::slot_of(int micro_batch) {
  for (Slot& slot : slots_)
    if (slot.micro_batch == micro_batch) return slot;
  return take_slot(micro_batch);
}

template <class T>
void PipelineTrainer<T>::forward(Slot& slot, const Batch<T>& batch) {
  const Range rows = rows_of(slot.micro_batch, batch.rows());
  if (is_first())
    feed_.read(*batch.data,
               batch.samples.subspan(static_cast<std::size_t>(rows.begin), static_cast<std::size_t>(rows.size())),
               slot.input.data());
  stack_.forward(slot.pass, {slot.input.data(), is_first()}, rows.size());
}

template <class T>
void PipelineTrainer<T>::backward(Slot& slot, const Batch<T>& batch) {
  const int features = stack_.features();
  if (is_last())
    this->maths_.loss(this->spec_.loss, slot.pass.result(),
                      labels_.data() + rows_of(slot.micro_batch, batch.rows()).begin, features, slot.pass.rows,
                      loss_scale(this->spec_.loss, batch.rows(), features), slot.result_gradients.data(), loss_.data());
  GradientBuffer& to_previous = to_previous_[turn_ ^= 1];
  to_previous.sending.finish(this->device());
  stack_.backward(slot.pass, accumulate_, slot.result_gradients.data(), is_first() ? nullptr : to_previous.data.data());
  accumulate_ = true;
}

template <class T>
void PipelineTrainer<T>::send_activation(Slot& slot) {
  const int features = stack_.features();
  if (this->spec_.trace)
    this->spec_.trace(fmt::format("sending {} to rank {}",
                                  summary(this->device(), slot.pass.rows, features, slot.pass.result()),
                                  comm_.rank() + 1));
  slot.sending.start(this->device(), kToNext, comm_, slot.pass.result(), elements(features, slot.pass.rows),
                     comm_.rank() + 1);
}

template <class T>
void PipelineTrainer<T>::carry_out(const Action& action, const Batch<T>& batch, bool forward_only) {
  Slot& slot = slot_of(action.micro_batch);
  const int rows = rows_of(action.micro_batch, batch.rows()).size();
  switch (action.work) {
    case Work::recv_activation:
      comm_.recv(slot.input.data(), elements(inputs(), rows), comm_.rank() - 1, this->options());
      break;
    case Work::forward:
      forward(slot, batch);
      if (forward_only && is_last()) {
        this->maths_.correct(slot.pass.result(), labels_.data() + rows_of(action.micro_batch, batch.rows()).begin,
                             stack_.features(), rows, hits_.data());
        slot.micro_batch = -1;
      }
      break;
    case Work::send_activation:
      send_activation(slot);
      if (forward_only) slot.micro_batch = -1;
      break;
    case Work::recv_gradient:
      comm_.recv(slot.result_gradients.data(), elements(stack_.features(), rows), comm_.rank() + 1, this->options());
      break;
    case Work::backward:
      backward(slot, batch);
      if (is_first()) slot.micro_batch = -1;
      break;
    case Work::send_gradient:
      to_previous_[turn_].sending.start(this->device(), kToPrevious, comm_, to_previous_[turn_].data.data(),
                                        elements(inputs(), rows), comm_.rank() - 1);
      slot.micro_batch = -1;
      break;
  }
}

template <class T>
void PipelineTrainer<T>::run(const Batch<T>& batch, bool forward_only) {
  micro_batches_ = std::min(this->spec_.micro_batches, batch.rows());
  accumulate_ = false;
  this->device().zero(loss_.data(), sizeof(double));
  this->device().zero(hits_.data(), sizeof(std::int64_t));
  if (is_last()) feed_.read_labels(*batch.data, batch.samples, labels_.data());
  for (const Action& action : actions(micro_batches_, forward_only)) carry_out(action, batch, forward_only);
  for (Slot& slot : slots_) slot.sending.finish(this->device());
  for (GradientBuffer& buffer : to_previous_) buffer.sending.finish(this->device());
}

template <class T>
void PipelineTrainer<T>::enqueue_gradients(const Batch<T>& batch) {
  run(batch, false);
  if (comm_.size() == 1) return;
  // Only the last stage has the loss; rank 0 reports it.
  if (is_last()) comm_.send(loss_.data(), 1, 0, this->options());
  if (is_first()) comm_.recv(loss_.data(), 1, comm_.size() - 1, this->options());
}

template <class T>
double PipelineTrainer<T>::read_loss() {
  const double loss = this->download(loss_.data());
  return is_first() || is_last() ? loss : std::numeric_limits<double>::quiet_NaN();
}

template <class T>
std::int64_t PipelineTrainer<T>::correct(const Batch<T>& batch) {
  run(batch, true);
  comm_.all_reduce(hits_.data(), hits_.data(), 1, ReduceOp::sum, this->options());
  return this->download(hits_.data());
}

template class PipelineTrainer<float>;
template class PipelineTrainer<double>;

}  // namespace tutti::trainers
