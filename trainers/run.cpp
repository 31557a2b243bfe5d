#include "trainers/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>

#include "trainers/fashion_mnist.hpp"
#include "trainers/progress.hpp"
#include "trainers/random.hpp"

namespace tutti::trainers {
namespace {

constexpr std::size_t kLossesKept = 20;
constexpr std::uint32_t kLectureSamples = 128;
constexpr std::int64_t kStepsBetweenChecks = 100;

/// Rank 0 reads and verifies, the others get it from there; a failure on rank 0 is thrown on all.
Images share_images(const Config& config, Split split, Communicator* comm) {
  if (!comm) return read_fashion_mnist(config.data_folder, split);
  Images images;
  std::string error;
  if (comm->rank() == 0) try {
      images = read_fashion_mnist(config.data_folder, split);
    } catch (const InputError& e) {
      error = e.what();
    }
  std::array<std::uint64_t, 4> sizes = {error.size(), static_cast<std::uint64_t>(images.features), images.pixels.size(),
                                        images.labels.size()};
  comm->broadcast(sizes.data(), sizes.size(), 0);
  if (sizes[0] > 0) {
    error.resize(sizes[0]);
    comm->broadcast(reinterpret_cast<std::uint8_t*>(error.data()), error.size(), 0);
    throw InputError(error);
  }
  images.features = static_cast<int>(sizes[1]);
  images.pixels.resize(sizes[2]);
  images.labels.resize(sizes[3]);
  comm->broadcast(images.pixels.data(), images.pixels.size(), 0);
  comm->broadcast(images.labels.data(), images.labels.size(), 0);
  return images;
}

template <class T>
class Run {
 public:
  Run(const Config& config, Communicator* comm) : config_(config), comm_(comm) {
    if (config.preset == Preset::fashion) {
      Images images = share_images(config, Split::train, comm);
      statistics_ = statistics_of(images);
      data_ = std::make_unique<ImageData<T>>(std::move(images), statistics_);
    } else {
      data_ = std::make_unique<NormalData<T>>(config.trainer.seed, kLectureSamples, config.trainer.mlp.widths.front());
    }
    TrainerSpec spec = config.trainer;
    if (config.trace)
      spec.trace = [rank = comm ? comm->rank() : 0](const std::string& line) {
        fmt::print("rank {}: {}\n", rank, line);
      };
    trainer_ = make_trainer<T>(config.parallel, spec, comm);
  }

  RunResult operator()() {
    train();
    if (config_.trace) trace_parameters();
    if (config_.preset == Preset::fashion) result_.accuracy = evaluate();
    return std::move(result_);
  }

 private:
  bool reports() const { return !comm_ || comm_->rank() == 0; }

  void train() {
    const auto batch = static_cast<std::size_t>(config_.trainer.batch);
    const auto per_epoch = static_cast<std::int64_t>((data_->samples() + batch - 1) / batch);
    const std::int64_t all = per_epoch * config_.epochs;
    const std::int64_t wanted = config_.steps > 0 ? std::min(config_.steps, all) : all;
    Progress progress(on_terminal() && !config_.trace, config_.epochs, wanted, per_epoch);
    std::vector<std::uint32_t> order(data_->samples());
    std::int64_t rows_seen = 0;
    const auto start = std::chrono::steady_clock::now();
    for (int epoch = 1; result_.steps < wanted; ++epoch) {
      epoch_order(config_.trainer.seed, epoch, order);
      double sum = 0;
      std::size_t at = 0;
      while (at < order.size() && result_.steps < wanted) {
        const std::size_t rows = std::min(batch, order.size() - at);
        if (config_.decay != Decay::none)
          trainer_->set_rate(config_.trainer.optimizer.rate * rate_factor(config_.decay, result_.steps, all));
        const double loss = trainer_->step({data_.get(), std::span(order).subspan(at, rows)});
        at += rows;
        ++result_.steps;
        sum += loss * static_cast<double>(rows);
        if (reports()) {
          if (result_.losses.size() < kLossesKept) result_.losses.push_back(loss);
          progress.step(epoch, result_.steps, static_cast<int>(rows), loss);
          if (diverged_at_ == 0 && !std::isfinite(loss)) {
            diverged_at_ = result_.steps;
            diverged_loss_ = loss;
          }
        }
        if (result_.steps % kStepsBetweenChecks == 0 && diverged()) break;
      }
      rows_seen += static_cast<std::int64_t>(at);
      if (reports()) {
        result_.epoch_losses.push_back(sum / static_cast<double>(at));
        progress.epoch(epoch, result_.steps, result_.epoch_losses.back());
      }
      if (diverged())
        throw Diverged(fmt::format("the loss of step {} is {}: training diverged at --lr {}; give a lower --lr",
                                   diverged_at_, std::isnan(diverged_loss_) ? "nan" : "infinite",
                                   config_.trainer.optimizer.rate));
    }
    result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    result_.samples_per_second = static_cast<double>(rows_seen) / result_.seconds;
  }

  /// Rank 0's verdict, on all ranks: not every rank of a pipeline knows the loss. Collective.
  bool diverged() {
    if (comm_) comm_->broadcast(&diverged_at_, 1, 0);
    return diverged_at_ > 0;
  }

  /// The test set is read here, once, after all training.
  double evaluate() {
    const ImageData<T> test(share_images(config_, Split::test, comm_), statistics_);
    std::vector<std::uint32_t> order(test.samples());
    for (std::uint32_t i = 0; i < test.samples(); ++i) order[i] = i;
    std::int64_t hits = 0;
    const auto batch = static_cast<std::size_t>(config_.trainer.batch);
    for (std::size_t at = 0; at < order.size(); at += batch)
      hits += trainer_->correct({&test, std::span(order).subspan(at, std::min(batch, order.size() - at))});
    return static_cast<double>(hits) / test.samples();
  }

  void trace_parameters() {
    Parameters<T>& p = trainer_->parameters();
    for (int i = 0; i < p.pieces(); ++i)
      fmt::print("rank {}: layer {} weights {}\n", comm_ ? comm_->rank() : 0, p.piece(i).layer,
                 summary(p.piece(i).outputs.size(), p.piece(i).inputs, p.weights(i)));
  }

  const Config& config_;
  Communicator* comm_;
  PixelStatistics statistics_;
  std::unique_ptr<DataSet<T>> data_;
  std::unique_ptr<Trainer<T>> trainer_;
  RunResult result_;
  std::int64_t diverged_at_ = 0;  ///< the first step whose loss is not finite; 0: none
  double diverged_loss_ = 0;      ///< on rank 0
};

}  // namespace

RunResult run(Session& session, const Config& config) {
  const bool serial = config.parallel == Parallel::serial;
  maths::share_cores(serial ? 1 : session.size());
  // The idle ranks go straight to the end of the program, where they sleep until rank 0 is there too.
  if (serial && session.rank() != 0) return {};
  std::optional<Communicator> comm;
  if (!serial) comm.emplace(session.communicator());
  Communicator* peers = comm ? &*comm : nullptr;
  const std::string backend = peers ? name_of(peers->backend()) : "none";
  if (session.rank() == 0) {
    for (const std::string& line : header(config, session.size(), backend)) fmt::print("{}\n", line);
    std::fflush(stdout);
  }
  RunResult result = config.dtype == DataType::f64 ? Run<double>(config, peers)() : Run<float>(config, peers)();
  result.backend = backend;
  result.sent_bytes_per_step = sent_bytes(config, session.rank(), session.size(), config.trainer.batch);
  return result;
}

}  // namespace tutti::trainers
