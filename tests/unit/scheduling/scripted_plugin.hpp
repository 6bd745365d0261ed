// Plugins that do at each extension point what a test says, and note that they were asked. Two of them, "A"
// and "B", in this order.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/event.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling::test {

/// What the test and the plugins tell each other. One test at a time. What it says is said before the plugins
/// are asked.
struct Script {
  Script() { current() = this; }
  /// The plugins go with the engine, whose thread may be the last to end.
  ~Script() {
    while (plugins != 0) std::this_thread::yield();
    current() = nullptr;
  }
  static Script*& current() {
    static Script* now = nullptr;
    return now;
  }

  /// By "A.reserve", "B.permit", ...: success if nothing is said.
  std::map<std::string, Status> says;
  std::map<std::string, nanoseconds> timeouts;
  std::map<std::string, PostFilterResult> post_filters;  // by plugin
  EventMask events;                                      // of both
  bool gated = false;                                    // by A
  std::string worth;  // of which events pods are worth another attempt, by label; empty: all
  /// What was asked, as "A.reserve(pod)".
  std::vector<std::string> asked;
  void note(std::string what) {
    std::lock_guard lock(mutex);
    asked.push_back(std::move(what));
  }
  std::mutex mutex;  // of what was asked: preparations run on another thread
  std::string asked_text() {
    std::string text = fmt::format("{}", fmt::join(asked, " "));
    asked.clear();
    return text;
  }
  /// PreBind of the plugins that are named here has work; it fails as `says` has it, and does not end while
  /// `hangs`.
  std::string pre_binds;
  bool hangs = false;
  /// What plugins write into pods, as annotations "A", "B" and "last".
  std::map<char, std::string> changes;
  CycleControl* cycle = nullptr;
  std::string why_gated;
  std::map<char, PluginIndex> index;
  std::atomic<int> plugins = 0;
  std::atomic<int> kept = 0;  // states that are kept for pods
  /// A lets pods wait until there are so many of them; 0: it does not.
  int gang = 0;
};

template <char kName>
class ScriptedPlugin final : public Plugin,
                             public PreEnqueuePlugin,
                             public EventPlugin,
                             public PostFilterPlugin,
                             public ReservePlugin,
                             public PermitPlugin,
                             public PreBindPlugin,
                             public PostBindPlugin {
 public:
  explicit ScriptedPlugin(const PluginContext& context) : index_(context.index) {
    ++script().plugins;
    script().cycle = &context.cycle;
    script().index[kName] = context.index;
  }
  ~ScriptedPlugin() override { --script().plugins; }
  bool sign(const PodInfo&, Signature&) const override { return true; }
  bool may_enqueue(const PodInfo&) const override { return kName != 'A' || !script().gated; }
  std::string why_kept_out(const PodInfo&) const override { return script().why_gated; }
  EventMask events() const override { return script().events; }
  bool worth_retrying(const PodInfo&, const ClusterEvent& event) const override {
    return script().worth.empty() || label(event) == script().worth;
  }
  PostFilterResult post_filter(PodAttempt& attempt, const Diagnosis&) override {
    ask("post_filter", attempt);
    const auto it = script().post_filters.find(std::string(1, kName));
    return it != script().post_filters.end() ? it->second
                                             : PostFilterResult{{StatusCode::unschedulable, {}}, {}, {}};
  }
  void preempted(const api::Pod& pod, bool all) override {
    script().note(fmt::format("{}.preempted({}, {})", kName, pod.metadata.name, all));
  }
  Status reserve(PodAttempt& attempt) override {
    attempt.keep(index_, std::make_unique<Kept>());
    return ask("reserve", attempt);
  }
  void unreserve(PodAttempt& attempt) override { ask("unreserve", attempt); }
  Answer permit(PodAttempt& attempt) override {
    if (script().gang > 0 && kName == 'A') return permit_gang();
    const auto it = script().timeouts.find(std::string(1, kName));
    return {ask("permit", attempt), it != script().timeouts.end() ? it->second : nanoseconds{0}};
  }
  std::shared_ptr<PreBindWork> pre_bind(PodAttempt&) override {
    if (script().pre_binds.find(kName) == std::string::npos) return nullptr;
    return std::make_shared<Work>();
  }
  void change_pod(PodAttempt&, PodChanges& changes) override {
    const auto it = script().changes.find(kName);
    if (it == script().changes.end()) return;
    changes.annotations[std::string(1, kName)] = it->second;
    changes.annotations["last"] = it->second;
  }
  void post_bind(PodAttempt& attempt) override { ask("post_bind", attempt); }

 private:
  struct Kept : PodState {
    Kept() { ++script().kept; }
    ~Kept() override { --script().kept; }
  };
  struct Work : PreBindWork {
    Task<Status> run(const Context& context) override {
      script().note(
          fmt::format("{}.pre_bind({}, {})", kName, context.pod->metadata.name, context.node.view()));
      if (script().hangs) {
        Event never;
        if (auto waited = co_await never.wait(); !waited) co_return Status{StatusCode::error, "cut off"};
      }
      co_return said("pre_bind");
    }
  };

  Answer permit_gang() {
    int waiting = 1;
    script().cycle->each_waiting([&](const PodAttempt&) { ++waiting; });
    if (waiting < script().gang) return {{StatusCode::wait, {}}, std::chrono::minutes(1)};
    script().cycle->each_waiting(
        [&](const PodAttempt& other) { script().cycle->allow(other.pod.pod->metadata.uid, index_); });
    return {};
  }

  static Script& script() { return *Script::current(); }
  static Status said(std::string_view point) {
    const auto it = script().says.find(fmt::format("{}.{}", kName, point));
    return it != script().says.end() ? it->second : Status{};
  }
  Status ask(std::string_view point, PodAttempt& attempt) {
    script().note(fmt::format("{}.{}({})", kName, point, attempt.pod.pod->metadata.name));
    return said(point);
  }

  PluginIndex index_;
};

inline constexpr PluginEntry kScriptedA{.name = "A", .make = &make<ScriptedPlugin<'A'>>};
inline constexpr PluginEntry kScriptedB{.name = "B", .make = &make<ScriptedPlugin<'B'>>};

}  // namespace koord::scheduling::test
