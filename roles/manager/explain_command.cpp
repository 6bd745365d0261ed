// `koord explain node NAME`: reads, plans as the manager does, tells; with --watch again and again. It writes
// nothing.
#include "explain_command.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <ostream>

#include "explain/node_story.hpp"
#include "explain/story_change.hpp"
#include "flags.hpp"
#include "framework/noderesource/plan.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/async/timer.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/transport.hpp"
#include "koord/runtime/command_cluster.hpp"
#include "koord/runtime/command_flags.hpp"
#include "koord/runtime/command_loop.hpp"
#include "koord/runtime/command_output.hpp"
#include "plugins.hpp"

namespace koord::manager {
namespace {

using namespace runtime;

constexpr std::array kOwnFlags = {
    Flag{"output", FlagType::text, "text", runtime::kOutputForms, 'o'},
    Flag{"config-namespace", FlagType::text, "koordinator-system", "As the manager's flag of this name."},
    Flag{"slo-config-name", FlagType::text, "slo-controller-config", "As the manager's flag of this name."},
    Flag{"feature-gates", FlagType::text, "", "As the manager's flag of this name."},
    Flag{"watch", FlagType::boolean, "false",
         "Then a line (times are UTC) each time that what it lends has changed: from what to what, and which "
         "lines of the sum moved it. Until it is interrupted.",
         'w'},
    Flag{"interval", FlagType::duration, "5s", "With --watch: how often to look."},
    Flag{"help", FlagType::boolean, "false", "Print this and exit.", 'h'},
};
constexpr auto kFlags = runtime::join_flags(kOwnFlags, runtime::kClusterFlags);

class Command {
 public:
  Command(const runtime::FlagValues& flags, std::string name, Streams streams)
      : flags_(flags), name_(std::move(name)), streams_(streams), clock_(loop_.get_executor()) {}

  int run(OutputForm form) {
    form_ = form;
    if (const Result<> connected = connect(); !connected) return fail(connected.error(), kUsage);
    const bool done = run_until_stopped(loop_, clock_, answer());
    return done || watches() ? code_ : kFailed;
  }

 private:
  bool watches() const { return flags_.get_bool("watch"); }

  Result<> connect() {
    KOORD_CHECK(gates_.set(flags_.get("feature-gates")));
    KOORD_TRY(config, command_config(flags_, "explain"));
    config_ = std::move(config);
    KOORD_TRY(transport, kube::make_transport(loop_.get_executor(), clock_, config_));
    transport_ = std::move(transport);
    client_.emplace(*transport_, clock_, kube::Client::Options{});
    return {};
  }

  Task<> answer() {
    const Result<> told = co_await tell();
    if (!told && told.error().code() != Code::cancelled) fail(at_server(config_, told.error()), kFailed);
  }

  /// What there is of a kind that need not be there.
  template <class T>
  Task<Result<std::optional<T>>> find(kube::ObjectKey key) {
    auto found = co_await client_->get<T>(std::move(key));
    if (found) co_return std::optional<T>(std::move(*found));
    if (found.error().code() == Code::not_found) co_return std::optional<T>();
    co_return found.error();
  }

  Task<Result<>> tell() {
    KOORD_CO_TRY(story, co_await read());
    say(story);
    if (!watches()) co_return Result<>();
    co_return co_await watch(std::move(story));
  }

  /// Until it is cancelled, or there is no such node any more. What goes wrong else may pass, and is told
  /// once.
  Task<Result<>> watch(NodeStory told) {
    const nanoseconds interval = flags_.get_duration("interval");
    std::string trouble;
    for (;;) {
      KOORD_CO_CHECK(co_await sleep(clock_, interval));
      Result<NodeStory> now = co_await read();
      if (now) {
        trouble.clear();
        const std::optional<StoryChange> change = change_of(told, *now);
        if (!change) continue;
        say(*change);
        told = std::move(*now);
        continue;
      }
      const Code code = now.error().code();
      if (code == Code::cancelled || code == Code::not_found) co_return std::move(now).error();
      const Error error = at_server(config_, now.error());
      if (trouble == error.message()) continue;
      trouble = error.message();
      complain(error.context(fmt::format("asked again every {}", api::Duration(interval).to_string())));
    }
  }

  /// A NodeStory or a StoryChange, ended.
  template <class View>
  void say(const View& view) {
    if (form_ == OutputForm::yaml && watches()) streams_.out << "---\n";
    streams_.out << (is_for_programs(form_) ? in_form(form_, api::encode(view))
                                            : for_people(form_, render(view)))
                 << std::flush;
  }

  Task<Result<NodeStory>> read() {
    auto found = co_await client_->get<api::Node>({"", name_});
    if (!found && is_missing_object(found.error()))
      co_return Error(Code::not_found,
                      fmt::format("{}: koord nodes lists those that there are", found.error().message()));
    if (!found) co_return std::move(found).error();
    const api::Node& node = *found;
    KOORD_CO_TRY(metric, co_await find<api::NodeMetric>({"", name_}));
    KOORD_CO_TRY(
        map, co_await find<api::ConfigMap>({flags_.get("config-namespace"), flags_.get("slo-config-name")}));
    kube::ListOptions on_node;
    on_node.field_selector = fmt::format("spec.nodeName={}", name_);
    KOORD_CO_TRY(pods, co_await client_->list_pages<api::Pod>(on_node));
    SloConfig slo;
    const SloConfig::Update update = map ? slo.set(*map) : slo.set_absent();
    const ColocationStrategy strategy = colocation_of(slo.colocation(), node);
    std::vector<std::shared_ptr<const api::Pod>> alive;
    for (const auto& pod : pods.items) {
      const std::string_view phase = pod->status.phase.view();
      if (phase != "Succeeded" && phase != "Failed") alive.push_back(pod);
    }
    const NodeFacts facts{.node = node,
                          .pods = alive,
                          .metric = metric ? &*metric : nullptr,
                          .topologies_known = false,
                          .devices_known = false,
                          .now = api::Time(clock_.now()),
                          .level = OvercommitLevel::of(node)};
    const ResourcePlugins plugins =
        choose_plugins(resource_plugin_table(), gates_, [](auto) { return true; });
    NodeStory story = tell_node(facts, strategy, plan_node(facts, slo, strategy, plugins));
    if (!map)
      story.notes.push_back(
          fmt::format("there is no ConfigMap {}/{}: the defaults were counted with, by which "
                      "colocation is off",
                      flags_.get("config-namespace"), flags_.get("slo-config-name")));
    for (const ConfigProblem& problem : update.problems) story.notes.push_back(problem.message);
    co_return std::move(story);
  }

  void complain(const Error& error) {
    streams_.err << "koord: explain node: " << runtime::cleaned(std::string(error.message())) << std::endl;
  }
  int fail(const Error& error, int code) {
    complain(error);
    return code_ = code;
  }

  const runtime::FlagValues& flags_;
  const std::string name_;
  Streams streams_;
  FeatureGates gates_{gates()};
  asio::io_context loop_{1};
  SystemClock clock_;
  OutputForm form_ = OutputForm::text;
  kube::ClientConfig config_;
  std::unique_ptr<kube::Transport> transport_;
  std::optional<kube::Client> client_;
  int code_ = kOk;
};

}  // namespace

int run_explain_node(std::span<const std::string> arguments, Streams streams) {
  const auto usage = [&](std::string_view what) {
    streams.err << "koord: explain node: " << what << "\n";
    return kUsage;
  };
  const runtime::WordsAndFlags split = runtime::split_words(arguments, kFlags);
  for (const std::string& flag : split.flags) {
    if (flag != "--help" && flag != "-h") continue;
    streams.out
        << "koord explain node: how what a node lends to batch pods came about (capacity, margin, reserved, "
           "system,\npods, ratio), what takes most of it, and why it changes. By the manager's own formula, "
           "from "
           "what the API\nserver has now; with --watch also what changes it from now on.\n\n"
           "  koord explain node NAME [flags]\n  koord explain node NAME --watch\n\n"
        << runtime::flags_help(kFlags);
    return kOk;
  }
  const auto line = runtime::parse_flags(split.flags, {"", kFlags}, {});
  if (!line) return usage(line.error().message());
  if (split.words.size() != 1) return usage("which node? koord explain node NAME");
  const auto form = runtime::parse_output_form(line->process.get("output"));
  if (!form) return usage(form.error().message());
  if (line->process.get_duration("interval") < std::chrono::milliseconds(100))
    return usage("--interval: at least 100ms");
  return Command(line->process, split.words[0], streams).run(*form);
}

}  // namespace koord::manager
