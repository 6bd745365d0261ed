// A plugin whose controller notes what it sees, and which notes when all is known.
#pragma once

#include <atomic>
#include <memory>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/async/event.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"

namespace koord::scheduler::test {

/// What the test is told. One test at a time.
struct Controlled {
  Controlled() { one() = this; }
  ~Controlled() { one() = nullptr; }
  static Controlled*& one() {
    static Controlled* now = nullptr;
    return now;
  }
  int made = 0, started = 0, ended = 0;
  bool might_write = false;
  std::size_t nodes = 0;  // that its informer knew when it started
  std::atomic<int> synced = 0;
};

class Controlling final : public scheduling::Plugin,
                          public scheduling::ControllerPlugin,
                          public scheduling::SyncedPlugin {
 public:
  explicit Controlling(const scheduling::PluginContext&) {}
  bool sign(const scheduling::PodInfo&, scheduling::Signature&) const override { return true; }
  std::unique_ptr<scheduling::PluginController> make_controller(kube::InformerSet& informers,
                                                                kube::Client& client) override {
    if (Controlled::one() != nullptr) ++Controlled::one()->made;
    return std::make_unique<Controller>(informers.informer<api::Node>(client));
  }
  void all_synced() override {
    if (Controlled::one() != nullptr) ++Controlled::one()->synced;
  }

 private:
  struct Controller final : scheduling::PluginController {
    explicit Controller(kube::Informer<api::Node> n) : nodes(std::move(n)) {}
    Task<Result<>> run(Context context) override {
      Controlled* const told = Controlled::one();
      if (told == nullptr) co_return Result<>();
      ++told->started;
      told->nodes = nodes.size();
      told->might_write = context.may_write();
      Event never;
      const Result<> cut_off = co_await never.wait();
      ++told->ended;
      co_return cut_off;
    }
    kube::Informer<api::Node> nodes;
  };
};

inline constexpr scheduling::PluginEntry kControlling{.name = "Controlling",
                                                      .make = &scheduling::make<Controlling>};

}  // namespace koord::scheduler::test
