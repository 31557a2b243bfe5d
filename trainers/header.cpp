// What a run prints before it trains: see config.hpp.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "trainers/config.hpp"
#include "trainers/fashion_mnist.hpp"

namespace tutti::trainers {
namespace {

std::string number(std::int64_t n) {
  if (n < 1000) return fmt::format("{}", n);
  return fmt::format("{},{:03}", number(n / 1000), n % 1000);
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes < 10000) return fmt::format("{} B", bytes);
  if (bytes < 10000000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

/// "a" if all ranks have the same, else "a, b, c, d".
template <class F>
std::string per_rank(int ranks, F&& text_of) {
  std::vector<std::string> texts;
  for (int r = 0; r < ranks; ++r) texts.push_back(text_of(r));
  if (std::all_of(texts.begin(), texts.end(), [&](const auto& t) { return t == texts.front(); })) return texts.front();
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string layout_line(const Config& config, int ranks) {
  const TrainerSpec& t = config.trainer;
  switch (config.parallel) {
    case Parallel::data: {
      const auto rows = per_rank(ranks, [&](int r) { return std::to_string(part_of(t.batch, r, ranks).size()); });
      return fmt::format("each of {} ranks holds the whole model and takes {} of a batch's {} rows", ranks, rows,
                         t.batch);
    }
    case Parallel::tensor:
      return fmt::format("each of {} ranks holds a slice of every layer's outputs, and all rows", ranks);
    case Parallel::pipeline:
      return fmt::format(
          "{} stages with {} layers, {} micro-batches, {}", ranks,
          per_rank(ranks, [&](int r) { return std::to_string(part_of(t.mlp.layers(), r, ranks).size()); }),
          std::min(t.micro_batches, t.batch), name_of(t.schedule));
    default: return "rank 0 does everything, the others are idle";
  }
}

std::string replicated_line(const Config& config, int ranks) {
  if (config.parallel == Parallel::data) return "all parameters and the optimizer";
  std::vector<std::string> layers;
  if (config.parallel == Parallel::tensor && ranks > 1)
    for (const Piece& piece : pieces_of(config.trainer.mlp, Parallel::tensor, 0, ranks))
      if (!piece.is_cut())
        layers.push_back(fmt::format("layer {} (width {} does not divide by {})", piece.layer, piece.width, ranks));
  return layers.empty() ? "nothing" : fmt::format("{}; counted once", fmt::join(layers, ", "));
}

std::string scale_line(const Config& config, int ranks) {
  switch (config.parallel) {
    case Parallel::data:
      return fmt::format(
          "where the rows divide by {}: own mean, all-reduce avg; else local sum / global rows, "
          "all-reduce sum",
          ranks);
    case Parallel::pipeline: return "of the global mean in every micro-batch, added up; nothing is rescaled";
    default: return "of the global mean";
  }
}

}  // namespace

std::int64_t sent_bytes(const Config& config, int rank, int ranks, int rows) {
  if (ranks == 1) return 0;
  const MlpSpec& mlp = config.trainer.mlp;
  const auto element = static_cast<std::int64_t>(size_of(config.dtype));
  // The least that one rank sends: of an all-gather or reduce-scatter of `count` elements in all, (n-1)/n of them.
  const auto share = [&](std::int64_t count) { return count * element * (ranks - 1) / ranks; };
  std::int64_t bytes = 0;
  switch (config.parallel) {
    case Parallel::data: return 2 * share(mlp.parameters() + 1);
    case Parallel::tensor: {
      const auto pieces = pieces_of(mlp, Parallel::tensor, rank, ranks);
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (!pieces[i].is_cut()) continue;
        bytes += share(static_cast<std::int64_t>(rows) * pieces[i].width);
        if (i > 0)
          bytes += (pieces[i - 1].is_cut() ? 1 : 2) * share(static_cast<std::int64_t>(rows) * pieces[i].inputs);
      }
      return bytes;
    }
    case Parallel::pipeline: {
      const auto pieces = pieces_of(mlp, Parallel::pipeline, rank, ranks);
      if (rank + 1 < ranks) bytes += static_cast<std::int64_t>(rows) * pieces.back().width * element;
      if (rank > 0) bytes += static_cast<std::int64_t>(rows) * pieces.front().inputs * element;
      if (rank + 1 == ranks) bytes += static_cast<std::int64_t>(sizeof(double));  // the loss, to rank 0
      return bytes;
    }
    default: return 0;
  }
}

std::vector<std::string> header(const Config& config, int ranks, const std::string& backend,
                                const std::string& device) {
  const TrainerSpec& t = config.trainer;
  const OptimizerSpec& o = t.optimizer;
  const auto held = [&](int r) { return parameters_of(pieces_of(t.mlp, config.parallel, r, ranks)); };
  const int holders = config.parallel == Parallel::serial ? 1 : ranks;
  const auto copies = static_cast<std::size_t>(2 + optimizer_states(o.kind)) * size_of(config.dtype);
  std::vector<std::string> lines;
  lines.push_back(fmt::format(
      "{}, {}, {} rank{}{}, {}, seed {}", name_of(config.preset),
      config.parallel == Parallel::serial ? std::string("serial")
                                          : fmt::format("{} parallel", name_of(config.parallel)),
      ranks, ranks > 1 ? "s" : "", backend == "none" ? "" : ", backend " + backend, name_of(config.dtype), t.seed));
  lines.push_back("device               " + device);
  lines.push_back(fmt::format("model                {}, {} {}, {}, {} parameters", fmt::join(t.mlp.widths, "-"),
                              name_of(t.mlp.activation), t.mlp.activate_last ? "after each layer" : "between layers",
                              t.mlp.bias ? "bias" : "no bias", number(t.mlp.parameters())));
  lines.push_back(fmt::format("training             {}, {}, lr {}{}, batch {}", name_of(t.loss), name_of(o.kind),
                              o.rate, config.decay == Decay::cosine ? " falling to 0 (cosine)" : "", t.batch));
  lines.push_back("layout               " + layout_line(config, ranks));
  lines.push_back("parameters per rank  " +
                  per_rank(holders, [&](int r) { return number(static_cast<std::int64_t>(held(r))); }));
  lines.push_back("bytes per rank       " +
                  per_rank(holders, [&](int r) { return bytes_text(static_cast<std::int64_t>(held(r) * copies)); }) +
                  " (values, gradients, optimizer)");
  if (config.parallel == Parallel::serial) return lines;
  lines.push_back("replicated           " + replicated_line(config, ranks));
  lines.push_back("gradients            " + scale_line(config, ranks));
  lines.push_back("sent per rank, step  " +
                  per_rank(ranks, [&](int r) { return bytes_text(sent_bytes(config, r, ranks, t.batch)); }));
  return lines;
}

void check_files(const Config& config) {
  if (config.preset == Preset::fashion) check_fashion_mnist(config.data_folder);
  if (config.json.empty()) return;
  const std::filesystem::path path(config.json);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    throw InputError(fmt::format("--json: the folder {} does not exist", folder.string()));
  if (std::filesystem::is_directory(path, ignored))
    throw InputError(fmt::format("--json: {} is a folder", config.json));
  if (std::filesystem::is_fifo(path, ignored))
    throw InputError(fmt::format("--json: {} is a pipe, not a file", config.json));
  const bool there = std::filesystem::exists(path, ignored);
  if (access(there ? path.c_str() : folder.c_str(), W_OK) != 0)
    throw InputError(fmt::format("--json: {} cannot be written", config.json));
}

}  // namespace tutti::trainers
