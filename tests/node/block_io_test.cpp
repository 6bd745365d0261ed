// Limits of block I/O on this machine's own kernel and disk, in groups of the test's own: what the agent
// writes holds reads back, an agent that dies leaves what the next one puts back, and others' limits stay.
// cgroup v1's files: exit status 77 where the machine has none, or no disk below this folder.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include "framework/qos/manager.hpp"
#include "framework/tick/local_storage.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/base/file.hpp"
#include "koord/base/manual_clock.hpp"
#include "koord/host/file.hpp"
#include "setup/gates.hpp"

namespace koord::koordlet {

extern const StrategyEntry kBlkIo;

namespace {

constexpr int kSkipped = 77;
constexpr std::size_t kPiece = std::size_t{64} << 10, kPieces = 24;
constexpr double kLimit = 1 << 20;  // bytes a second
constexpr const StrategyEntry* kOnly[] = {&kBlkIo};

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }
void expect(bool holds, const std::string& what) {
  if (!holds) fail(what);
}

class NobodyGoes final : public ActionRunner {
 public:
  void run(const Action&, Done) override {}
};

/// An agent's executor and manager on the real kernel.
struct Agent {
  Agent(const host::CgroupFs& fs, const std::string& journal)
      : executor(fs, files, clock, Logger(log, clock), metrics, Executor::Options{}, nullptr),
        actions({}, runner, clock, Logger(log, clock), metrics) {
    if (!gates.set("BlkIOReconcile=true")) fail("no gate");
    auto made = QosManager::make(kOnly,
                                 {.executor = executor,
                                  .clock = clock,
                                  .log = Logger(log, clock),
                                  .metrics = metrics,
                                  .gates = gates,
                                  .topology = [] { return std::shared_ptr<const host::Topology>(); },
                                  .actions = actions,
                                  .series = series,
                                  .processes = {}},
                                 {.journal = {.path = journal, .boot_id = "boot"},
                                  .seconds = [](std::string_view) { return std::chrono::seconds(1); },
                                  .is_set = [](std::string_view) { return false; },
                                  .dry_run = {}});
    if (!made) fail(made.error().message());
    manager = std::move(*made);
  }
  void tick(const Inventory& inventory, const LocalStorage& storage) {
    clock.advance(std::chrono::seconds(1));
    TickView view;
    view.at = clock.mono();
    view.wall = clock.now();
    view.interval = std::chrono::seconds(1);
    view.inventory = std::make_shared<const Inventory>(inventory);
    view.complete = true;
    view.slots.show(&storage, view.at);
    manager->tick(view);
  }

  ManualClock clock;
  CapturedLog log;
  metrics::Registry metrics;
  FeatureGates gates{koordlet::gates()};
  KernelFiles files;
  Executor executor;
  NobodyGoes runner;
  Actions actions;
  SeriesStore series{{}};
  std::unique_ptr<QosManager> manager;
};

struct Group {
  explicit Group(std::string path) : folder(std::move(path)) {
    if (mkdir(folder.c_str(), 0755) != 0) fail("mkdir " + folder);
  }
  ~Group() { rmdir(folder.c_str()); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  std::string file(const char* name) const {
    return *read_file(fmt::format("{}/blkio.throttle.{}", folder, name));
  }

  std::string folder;
};

/// How many bytes a second a process in the group reads past the page cache; 0: it cannot.
double reading(const Group& group, const std::string& path) {
  const auto begun = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    void* memory = nullptr;
    const int file = open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (!host::write_file(group.folder + "/cgroup.procs", std::to_string(getpid())) || file < 0 ||
        posix_memalign(&memory, 4096, kPiece) != 0)
      _exit(1);
    for (std::size_t i = 0; i < kPieces; ++i)
      if (pread(file, memory, kPiece, static_cast<off_t>(i * kPiece)) != static_cast<ssize_t>(kPiece))
        _exit(1);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  return status == 0 ? static_cast<double>(kPiece * kPieces) / took.count() : 0;
}

int run() {
  const host::Root root;
  const auto fs = host::CgroupFs::open(root, {});
  const auto devices = host::BlockDevices::read(root);
  struct stat here {};
  if (!fs || fs->version() != host::CgroupVersion::v1 || !fs->folder(host::Knob::io_read_bps, "") ||
      !devices || stat(".", &here) != 0) {
    std::printf("skipped: no blkio hierarchy of cgroup v1\n");
    return kSkipped;
  }
  const host::DeviceNumber number{static_cast<std::uint32_t>(major(here.st_dev)),
                                  static_cast<std::uint32_t>(minor(here.st_dev))};
  const auto disk = devices->disk_of(number);
  if (!disk) {
    std::printf("skipped: %s\n", std::string(disk.error().message()).c_str());
    return kSkipped;
  }
  const std::string name = fmt::format("koord-test-io-{}", getpid());
  const std::string journal = name + ".journal", data = name + ".bin";
  const Group group(*fs->folder(host::Knob::io_read_bps, name));
  const Group container(group.folder + "/c");  // where a pod's processes are
  const std::string device = host::to_string(*disk);
  const auto others = fmt::format("{} 77", device);
  expect(host::write_file(group.folder + "/blkio.throttle.write_iops_device", others).has_value(),
         "no limit");
  expect(replace_file(data, std::string(kPiece * kPieces, 'x')).has_value(), "no file");

  Inventory inventory;
  inventory.generation = 1;
  inventory.be_roots = {name};
  auto pod = std::make_shared<PodInfo>();
  pod->uid = pod->name = "p";
  pod->qos = Qos::be;
  pod->phase = PodPhase::running;
  pod->group = name;
  pod->containers.push_back({.name = "c", .id = "c", .group = name + "/c"});
  inventory.pods = {pod};
  inventory.pods_known = inventory.slo_known = true;
  auto slo = api::decode<api::NodeSloSpec>(fmt::format(
      R"({{"resourceQOSStrategy":{{"beClass":{{"blkioQOS":{{"enable":true,"blocks":[
          {{"name":"/dev/none-such","type":"device","ioCfg":{{"readBPS":1}}}},
          {{"name":"/dev/{}","type":"device","ioCfg":{{"readBPS":{},"readIOPS":4000}}}}]}}}}}}}})",
      devices->numbered(number)->name, kLimit));
  if (!slo) fail(slo.error().message());
  inventory.slo = std::make_shared<const api::NodeSloSpec>(std::move(*slo));
  LocalStorage storage;
  storage.devices = *devices;
  storage.version = 1;

  const double free = reading(container, data);
  auto agent = std::make_unique<Agent>(*fs, journal);
  agent->tick(inventory, storage);
  expect(group.file("read_bps_device") == fmt::format("{} 1048576\n", device), "read_bps_device");
  expect(group.file("read_iops_device") == fmt::format("{} 4000\n", device), "read_iops_device");
  expect(container.file("read_bps_device") == fmt::format("{} 1048576\n", device), "the container's");
  expect(group.file("write_iops_device") == others + "\n", "somebody else's limit");
  const double held = reading(container, data);
  std::printf("  reads of %s: %.1f MiB/s, limited to 1 MiB/s: %.2f\n", device.c_str(), free / kLimit,
              held / kLimit);
  if (free == 0)
    std::printf("  the file cannot be read past the page cache: not measured\n");
  else
    expect(held > 0 && held < kLimit * 1.5, "the limit does not hold");

  agent = std::make_unique<Agent>(*fs, journal);  // the other one has died
  expect(group.file("read_bps_device") == fmt::format("{} 1048576\n", device),
         "a limit ended with its agent");
  expect(agent->manager->cleanup(inventory).has_value(), "no cleanup");
  expect(group.file("read_bps_device").empty() && group.file("read_iops_device").empty() &&
             container.file("read_bps_device").empty() && container.file("read_iops_device").empty(),
         "a limit is left");
  expect(group.file("write_iops_device") == others + "\n", "somebody else's limit has gone");
  expect(!host::exists(journal), "a journal is left");
  unlink(data.c_str());
  return 0;
}

}  // namespace
}  // namespace koord::koordlet

int main() {
  try {
    return koord::koordlet::run();
  } catch (const std::exception& error) {
    std::printf("failed: %s\n", error.what());
    return 1;
  }
}
