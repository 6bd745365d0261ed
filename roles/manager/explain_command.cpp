// `koord explain node NAME`: reads, plans as the manager does, tells; writes nothing.
#include "explain_command.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <ostream>

#include "explain/node_story.hpp"
#include "flags.hpp"
#include "framework/noderesource/plan.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/transport.hpp"
#include "koord/runtime/command_cluster.hpp"
#include "koord/runtime/command_flags.hpp"
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
    Flag{"help", FlagType::boolean, "false", "Print this and exit.", 'h'},
};
constexpr auto kFlags = runtime::join_flags(kOwnFlags, runtime::kClusterFlags);

class Command {
 public:
  Command(const runtime::FlagValues& flags, std::string name, Streams streams)
      : flags_(flags), name_(std::move(name)), streams_(streams), clock_(loop_.get_executor()) {}

  int run(OutputForm form) {
    if (const Result<> connected = connect(); !connected) return fail(connected.error(), kUsage);
    TaskGroup tasks(loop_.get_executor());
    tasks.spawn("explain", answer(form));
    while (tasks.size() > 0) loop_.run_one();
    return code_;
  }

 private:
  Result<> connect() {
    KOORD_CHECK(gates_.set(flags_.get("feature-gates")));
    KOORD_TRY(config, command_config(flags_, "explain"));
    config_ = std::move(config);
    KOORD_TRY(transport, kube::make_transport(loop_.get_executor(), clock_, config_));
    transport_ = std::move(transport);
    client_.emplace(*transport_, clock_, kube::Client::Options{});
    return {};
  }

  Task<> answer(OutputForm form) {
    const Result<> told = co_await tell(form);
    if (!told) fail(at_server(config_, told.error()), kFailed);
  }

  /// What there is of a kind that need not be there.
  template <class T>
  Task<Result<std::optional<T>>> find(kube::ObjectKey key) {
    auto found = co_await client_->get<T>(std::move(key));
    if (found) co_return std::optional<T>(std::move(*found));
    if (found.error().code() == Code::not_found) co_return std::optional<T>();
    co_return found.error();
  }

  Task<Result<>> tell(runtime::OutputForm form) {
    KOORD_CO_TRY(node, co_await client_->get<api::Node>({"", name_}));
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
    streams_.out << (is_for_programs(form) ? in_form(form, api::encode(story))
                                           : for_people(form, render(story)))
                 << std::flush;
    co_return Result<>();
  }

  int fail(const Error& error, int code) {
    streams_.err << "koord: explain node: " << runtime::cleaned(std::string(error.message())) << std::endl;
    return code_ = code;
  }

  const runtime::FlagValues& flags_;
  const std::string name_;
  Streams streams_;
  FeatureGates gates_{gates()};
  asio::io_context loop_{1};
  SystemClock clock_;
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
           "what the API\nserver has now.\n\n  koord explain node NAME [flags]\n\n"
        << runtime::flags_help(kFlags);
    return kOk;
  }
  if (split.words.size() != 1) return usage("which node? koord explain node NAME");
  const auto line = runtime::parse_flags(split.flags, {"", kFlags}, {});
  if (!line) return usage(line.error().message());
  const auto form = runtime::parse_output_form(line->process.get("output"));
  if (!form) return usage(form.error().message());
  return Command(line->process, split.words[0], streams).run(*form);
}

}  // namespace koord::manager
