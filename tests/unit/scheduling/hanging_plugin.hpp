// A filter that holds the engine's thread until it is let go, for pods named "hang"; for pods named "linger"
// it holds the thread when that has nothing more to do and ends.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling::test {

/// What the test and the plugin tell each other. One test at a time.
class Hang {
 public:
  Hang() { one() = this; }
  ~Hang() { one() = nullptr; }

  /// Waits a moment for a pod to be held.
  bool holds() { return wait(holds_, std::chrono::milliseconds(5)); }
  void let_go() { tell(let_go_); }
  /// Waits until a thread that lingered is let go.
  bool is_left() { return wait(left_, std::chrono::seconds(60)); }
  /// Waits until the engine, and the plugin with it, is destroyed.
  bool is_gone() { return wait(gone_, std::chrono::seconds(60)); }

  // The plugin's:
  static Hang*& one() {
    static Hang* now = nullptr;
    return now;
  }
  void hold() {
    tell(holds_);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return let_go_; });
  }
  void linger() {
    struct Last {
      ~Last() {
        hang->hold();
        hang->tell(hang->left_);
      }
      Hang* hang;
    };
    static thread_local std::optional<Last> last;
    last.emplace(this);
  }
  void destroyed() { tell(gone_); }

 private:
  void tell(bool& what) {
    std::lock_guard lock(mutex_);
    what = true;
    changed_.notify_all();
  }
  bool wait(bool& what, std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, most, [&] { return what; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool holds_ = false, let_go_ = false, left_ = false, gone_ = false;
};

class HangingPlugin final : public Plugin, public NodeFilterPlugin {
 public:
  explicit HangingPlugin(const PluginContext&) {}
  ~HangingPlugin() override { Hang::one()->destroyed(); }
  bool sign(const PodInfo& pod, Signature& signature) const override {
    signature.add(pod.pod->metadata.name);
    return true;
  }
  Depends filter_depends() const override { return Depends::pods; }
  Prepared prepare_filter(const PodInfo& pod) override {
    Prepared prepared;
    prepared.skip = pod.pod->metadata.name != "hang";
    if (pod.pod->metadata.name == "linger") Hang::one()->linger();
    return prepared;
  }
  VerdictId filter_node(PodState*, const NodeTable&, Row) const override {
    Hang::one()->hold();
    return kPass;
  }
};

inline constexpr PluginEntry kHanging{.name = "Hanging", .make = &make<HangingPlugin>};

}  // namespace koord::scheduling::test
