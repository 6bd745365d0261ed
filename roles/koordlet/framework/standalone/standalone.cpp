// Standalone: see standalone.hpp.
#include "framework/standalone/standalone.hpp"

#include <fmt/format.h>

#include "koord/async/timer.hpp"
#include "koord/host/file.hpp"
#include "koord/host/procfs.hpp"

namespace koord::koordlet {

namespace {

constexpr std::size_t kMaxFile = 1 << 20;
/// Where the kernel tells nothing (network file systems), the file is looked at this often.
constexpr nanoseconds kLookPeriod = std::chrono::seconds(10);

std::string folder_of(const std::string& file) {
  const auto slash = file.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : file.substr(0, slash);
}

}  // namespace

Result<Machine> read_machine(const host::Root& root) {
  KOORD_TRY(stat_text, read_file(fmt::format("{}stat", root.proc)));
  host::ProcStat stat;
  if (auto parsed = host::parse_proc_stat(stat_text, stat); !parsed)
    return std::move(parsed).error().context(fmt::format("{}stat", root.proc));
  KOORD_TRY(memory_text, read_file(fmt::format("{}meminfo", root.proc)));
  KOORD_TRY(memory, host::parse_meminfo(memory_text));
  Machine machine;
  for (const auto& cpu : stat.cpus) machine.milli_cpu += cpu ? 1000 : 0;
  machine.memory = static_cast<std::int64_t>(memory.total);
  return machine;
}

Standalone::Standalone(boost::asio::any_io_executor executor, Clock& clock, Logger& log, InventoryHub& hub,
                       std::string file, std::string node_name, host::Root root)
    : executor_(std::move(executor)),
      clock_(clock),
      log_(log),
      hub_(hub),
      file_(std::move(file)),
      node_name_(std::move(node_name)),
      root_(std::move(root)) {
  status_.name = file_;
}

Result<> Standalone::load() {
  KOORD_TRY(machine, read_machine(root_));
  auto text = read_file(file_, kMaxFile);
  if (!text) return std::move(text).error().context("--standalone-config");
  text_ = std::move(*text);
  KOORD_TRY(config, read_standalone(text_, file_));
  if (config.node_name.empty()) config.node_name = node_name_;
  machine_ = machine;
  hub_.publish(standalone_inventory(config, machine_));
  status_.ok = true;
  status_.error.clear();
  status_.last_good = clock_.now();
  return {};
}

void Standalone::reload() {
  const auto text = read_file(file_, kMaxFile);
  const auto machine = read_machine(root_);  // CPUs come and go
  if (text && *text == text_ && machine && *machine == machine_) return;
  const auto loaded = text ? load() : Result<>(text.error());
  if (loaded) {
    log_.info("the configuration or the machine has changed", kv("file", file_),
              kv("groups", hub_.current()->pods.size()), kv("milli_cpu", machine_.milli_cpu));
    return;
  }
  if (status_.error != loaded.error().message())
    log_.error("the new configuration is bad, the old one stays in effect", kv("error", loaded.error()));
  status_.ok = false;
  status_.error = loaded.error().message();
}

Task<Result<>> Standalone::follow() {
  // The folder, because a file is mostly replaced by another one.
  std::optional<FileWatch> watch;
  if (auto opened = FileWatch::open(executor_))
    if (opened->add(folder_of(file_), IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE))
      watch.emplace(std::move(*opened));
  for (;;) {
    if (watch) {
      Task<Result<std::vector<FileEvent>>> next = watch->next();
      const auto events = co_await with_timeout(clock_, kLookPeriod, std::move(next));
      if (!events && events.error().code() == Code::cancelled) co_return events.error();
      if (!events && events.error().code() != Code::timeout) watch.reset();
    } else {
      KOORD_CO_CHECK(co_await sleep(clock_, kLookPeriod));
    }
    reload();
  }
}

}  // namespace koord::koordlet
