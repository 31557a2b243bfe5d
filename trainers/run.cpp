#include "trainers/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>

#include "trainers/fashion_mnist.hpp"
#include "trainers/maths_host.hpp"
#include "trainers/progress.hpp"
#include "trainers/random.hpp"

namespace tutti::trainers {
namespace {

constexpr std::size_t kLossesKept = 20;
constexpr std::uint32_t kLectureSamples = 128;
constexpr std::int64_t kStepsBetweenChecks = 100;

/// Rank 0 reads and verifies, the others get it from there; a failure on rank 0 is thrown on all.
Images share_images(const Config& config, Split split, Device& device, Communicator* comm) {
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
  broadcast_host(*comm, device, sizes.data(), sizes.size());
  if (sizes[0] > 0) {
    error.resize(sizes[0]);
    broadcast_host(*comm, device, reinterpret_cast<std::uint8_t*>(error.data()), error.size());
    throw InputError(error);
  }
  images.features = static_cast<int>(sizes[1]);
  images.pixels.resize(sizes[2]);
  images.labels.resize(sizes[3]);
  broadcast_host(*comm, device, images.pixels.data(), images.pixels.size());
  broadcast_host(*comm, device, images.labels.data(), images.labels.size());
  return images;
}

template <class T>
class Run {
 public:
  Run(const Config& config, Maths<T>& maths, Communicator* comm)
      : config_(config), device_(maths.device()), comm_(comm) {
    if (config.preset == Preset::fashion) {
      Images images = share_images(config, Split::train, device_, comm);
      statistics_ = statistics_of(images);
      data_ = std::make_unique<ImageData<T>>(std::move(images), statistics_);
    } else {
      data_ = std::make_unique<NormalData<T>>(config.trainer.seed, kLectureSamples, config.trainer.mlp.widths.front());
    }
    TrainerSpec spec = config.trainer;
    if (config.trace)
      spec.trace = [this, rank = comm ? comm->rank() : 0](const std::string& line) {
        if (!checking_) fmt::print("rank {}: {}\n", rank, line);
      };
    trainer_ = make_trainer<T>(config.parallel, maths, spec, comm);
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
    std::span<const std::uint32_t> last;  // the samples of the last step
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
        last = std::span(order).subspan(at, rows);
        const double loss = trainer_->step({data_.get(), last});
        at += rows;
        ++result_.steps;
        sum += loss * static_cast<double>(rows);
        if (reports()) {
          if (result_.losses.size() < kLossesKept) result_.losses.push_back(loss);
          progress.step(epoch, result_.steps, static_cast<int>(rows), loss);
          judge(result_.steps, loss);
        }
        if (result_.steps % kStepsBetweenChecks == 0 && diverged()) break;
      }
      rows_seen += static_cast<std::int64_t>(at);
      if (reports()) {
        result_.epoch_losses.push_back(sum / static_cast<double>(at));
        progress.epoch(epoch, result_.steps, result_.epoch_losses.back());
      }
      throw_if_diverged();
    }
    result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    result_.samples_per_second = static_cast<double>(rows_seen) / result_.seconds;
    check_last_update(last);
  }

  /// No later step has a loss that would show what the last update made of the parameters, so this takes one of
  /// `samples`, the last step's. Collective.
  void check_last_update(std::span<const std::uint32_t> samples) {
    checking_ = true;
    const double loss = trainer_->compute_gradients({data_.get(), samples});
    if (reports()) judge(result_.steps + 1, loss);
    throw_if_diverged();
  }

  void judge(std::int64_t step, double loss) {
    if (diverged_at_ > 0 || std::isfinite(loss)) return;
    diverged_at_ = step;
    diverged_loss_ = loss;
  }

  void throw_if_diverged() {
    if (!diverged()) return;
    const std::string when = diverged_at_ > result_.steps ? fmt::format("after step {}, the last,", result_.steps)
                                                          : fmt::format("of step {}", diverged_at_);
    throw Diverged(fmt::format("the loss {} is {}: training diverged at --lr {}; give a lower --lr", when,
                               std::isnan(diverged_loss_) ? "nan" : "infinite", config_.trainer.optimizer.rate));
  }

  /// Rank 0's verdict, on all ranks: not every rank of a pipeline knows the loss. Collective.
  bool diverged() {
    if (comm_) broadcast_host(*comm_, device_, &diverged_at_, 1);
    return diverged_at_ > 0;
  }

  /// The test set is read here, once, after all training.
  double evaluate() {
    const ImageData<T> test(share_images(config_, Split::test, device_, comm_), statistics_);
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
                 summary(device_, p.piece(i).outputs.size(), p.piece(i).inputs, p.weights(i)));
  }

  const Config& config_;
  Device& device_;
  Communicator* comm_;
  PixelStatistics statistics_;
  std::unique_ptr<DataSet<T>> data_;
  std::unique_ptr<Trainer<T>> trainer_;
  RunResult result_;
  bool checking_ = false;         ///< what a trainer traces now belongs to no step
  std::int64_t diverged_at_ = 0;  ///< the first step whose loss is not finite, the one after the last too; 0: none
  double diverged_loss_ = 0;      ///< on rank 0
};

/// The maths of this rank's GPU, on all ranks or none: then throws InputError, alike on all. Collective unless `alone`.
template <class T>
std::unique_ptr<Maths<T>> maths_of_gpu(Session& session, bool alone) {
  std::array<char, 512> trouble{};
  std::unique_ptr<Maths<T>> maths;
  try {
    maths = gpu_maths<T>();
  } catch (const Error& error) {
    const std::string text = alone ? error.what() : fmt::format("rank {}: {}", session.rank(), error.what());
    text.copy(trouble.data(), trouble.size() - 1);
  }
  const auto all = alone ? std::vector{trouble} : session.bootstrap_all_gather(trouble);
  for (const auto& each : all)
    if (each[0] != 0) throw InputError(each.data());
  return maths;
}

template <class T>
RunResult run_in(Session& session, const Config& config, Communicator* comm) {
  const std::unique_ptr<Maths<T>> gpu = session.on_gpu() ? maths_of_gpu<T>(session, !comm) : nullptr;
  Maths<T>& maths = gpu ? *gpu : host_maths<T>();
  const std::string backend = comm ? name_of(comm->backend()) : "none";
  const std::string device = gpu ? maths.device().name() : fmt::format("the CPU ({})", why_on_cpu());
  if (session.rank() == 0) {
    for (const std::string& line : header(config, session.size(), backend, device)) fmt::print("{}\n", line);
    std::fflush(stdout);
  }
  RunResult result = Run<T>(config, maths, comm)();
  result.backend = backend;
  result.device = gpu ? "gpu" : "cpu";
  result.sent_bytes_per_step = sent_bytes(config, session.rank(), session.size(), config.trainer.batch);
  return result;
}

}  // namespace

RunResult run(Session& session, const Config& config) {
  const bool serial = config.parallel == Parallel::serial;
  maths::share_cores(serial ? 1 : session.size());
  // The idle ranks go straight to the end of the program, where they sleep until rank 0 is there too.
  if (serial && session.rank() != 0) return {};
  std::optional<Communicator> comm;
  if (!serial) comm.emplace(session.communicator());
  Communicator* peers = comm ? &*comm : nullptr;
  return config.dtype == DataType::f64 ? run_in<double>(session, config, peers) : run_in<float>(session, config, peers);
}

}  // namespace tutti::trainers
