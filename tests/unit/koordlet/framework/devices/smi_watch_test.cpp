// nvidia-smi in the place of a library that is not there: cards are reported by it, and no longer than it
// answers.
#include "framework/devices/smi_watch.hpp"

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include <filesystem>

#include "framework/devices/nvidia_cards.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "support/pci_tree.hpp"
#include "support/run_task.hpp"

namespace koord::koordlet {
namespace {

struct Smi final : host::Programs {
  Task<Result<std::string>> ask(std::string_view, std::vector<std::string> arguments) override {
    if (!answers) co_return Error(Code::not_found, "nvidia-smi: not in /usr/bin");
    if (arguments.front().find("index") != std::string::npos)
      co_return std::string("0, GPU-a, NVIDIA A100, 81920, 00000000:44:00.0, 535.1\n");
    co_return arguments.front().find("mig") != std::string::npos ? std::string("GPU-a, Disabled, 5, 6, 7\n")
                                                                 : std::string();
  }
  void begin() override { ++looks; }
  bool answers = true;
  int looks = 0;
};

TEST_CASE("Without a library nvidia-smi says which cards there are") {
  testing::Tree tree;
  tree.write("sys/bus/pci/drivers/nvidia/", "");
  pci_card(tree, "0000:44:00.0", "10de", "20b5", 1, "pci0000:3a");
  boost::asio::io_context context;
  SystemClock clock{context.get_executor()};
  metrics::Registry metrics;
  CapturedLog log;
  const host::Root root = host::Root::below(tree.path());
  const auto driver = std::make_shared<GpuDriver>(
      clock, root, GpuDriver::Options{.helper = {.root = {}, .library = "/nowhere/libnvidia-ml.so.1"}},
      metrics);
  NvidiaCards cards(driver, root);
  CHECK_FALSE(driver->lacks_library());
  DeviceReading reading = cards.read();
  CHECK_FALSE(reading.complete);
  CHECK(reading.problems.at(0) ==
        "NVIDIA's GPUs cannot be asked for: the driver's library libnvidia-ml.so.1 is not there");
  CHECK(driver->lacks_library());

  auto programs = std::make_unique<Smi>();
  Smi& smi = *programs;
  SmiWatch watch(driver, std::move(programs), tree.path(), clock, Logger(log, clock));
  test::Loop loop;
  REQUIRE(test::run_task(loop, watch.look()).has_value());
  reading = cards.read();
  CHECK(reading.complete);
  REQUIRE(reading.devices.size() == 1);
  CHECK(reading.devices[0].id == "GPU-a");
  CHECK(reading.devices[0].topology->node_id == 1);
  CHECK(reading.gpus.driver_version == "535.1");
  CHECK(log.contains("nvidia-smi is asked each 10 s"));

  smi.answers = false;
  REQUIRE(test::run_task(loop, watch.look()).has_value());
  reading = cards.read();
  CHECK_FALSE(reading.complete);  // what is reported stays
  CHECK(reading.problems.at(0).find("nvidia-smi: not in /usr/bin") != std::string::npos);

  // Who follows asks for as long as there is a driver.
  auto others = std::make_unique<Smi>();
  Smi& followed = *others;
  SmiWatch follower(driver, std::move(others), tree.path(), loop.clock, Logger(log, clock));
  TaskGroup tasks{loop.executor()};
  tasks.spawn("nvidia-smi", follower.run());
  for (int i = 0; i < 2; ++i) loop.advance(std::chrono::seconds(10));
  CHECK(followed.looks == 3);
  std::filesystem::remove_all(tree / "sys/bus/pci/drivers/nvidia");
  for (int i = 0; i < 12; ++i) loop.advance(std::chrono::seconds(10));
  CHECK(followed.looks == 3);
  test::run_task(loop, tasks.stop(loop.clock, std::chrono::seconds(1)));
}

}  // namespace
}  // namespace koord::koordlet
