#include "bench/fit/bench_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "bench/bandwidth.hpp"

extern char** environ;

namespace tutti::fit {
namespace {

constexpr int kWorlds[] = {2, 4};

std::string beside_this_program(const char* name) {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string here(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return (std::filesystem::path(here).parent_path() / name).string();
}

std::atomic<pid_t> running = 0;

/// Whoever ends this program ends what it has started.
void end_both(int signal) {
  if (const pid_t child = running; child > 0) kill(child, SIGTERM);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// What it printed goes to `log`.
int run(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int fault = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (fault != 0)
    throw RunError(fmt::format("cannot start {}: {}; measure with tutti bench --json, and give fit the files", words[0],
                               std::strerror(fault)));
  running = child;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  running = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

std::vector<std::string> measure_here(const std::string& folder, const std::function<void(const std::string&)>& told) {
  const std::string bench = beside_this_program("tutti-bench");
  if (access(bench.c_str(), X_OK) != 0)
    throw RunError(fmt::format("there is no {}: build it, or give fit the files of bench --json", bench));
  for (const int signal : {SIGTERM, SIGHUP})
    std::signal(signal, end_both);  // a terminal's Ctrl-C reaches all by itself
  std::vector<std::string> files;
  for (const int ranks : kWorlds)
    for (int i = 0; i < bench::kOperations; ++i) {
      const std::string collective = bench::name_of(static_cast<bench::Operation>(i));
      told(fmt::format("measuring {} at {} ranks ({} of {})", collective, ranks, files.size() + 1,
                       std::size(kWorlds) * bench::kOperations));
      const std::string base = fmt::format("{}/{}-{}", folder, collective, ranks);
      std::vector<std::string> words = {"mpirun", "-n", std::to_string(ranks), "--oversubscribe", "--bind-to", "none"};
      if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
      for (const char* word : {bench.c_str(), collective.c_str(), "--backend", "native", "--algorithm", "all", "-b",
                               "8", "-e", "32M", "-f", "4", "--rounds", "5", "--json"})
        words.emplace_back(word);
      files.push_back(base + ".json");
      words.push_back(files.back());
      if (const int code = run(words, base + ".log"); code != 0)
        throw RunError(fmt::format("bench {} at {} ranks ended with {}; what it said is in {}.log", collective, ranks,
                                   code, base));
    }
  return files;
}

}  // namespace tutti::fit
