// See scripted_plugins.hpp.
#include "passes/scripted_plugins.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::descheduler::test {

KOORD_OBJECT(ScriptedArgs, descheduler_kind("MigrationControllerArgs"),
             ROW(count).default_json("7").doc("How many."));

void ScriptedArgs::validate(const std::string& path, api::FieldErrors& errors) const {
  if (count < 0)
    errors.invalid(fmt::format("{}.count", path), fmt::format("{}", count), "must not be negative");
}

namespace {

Script* script = nullptr;

class ScriptedPlugin final : public Plugin {
 public:
  ScriptedPlugin(std::string_view name, const PluginContext& context)
      : key_(fmt::format("{}/{}", context.profile, name)) {}
  Task<Result<>> deschedule(Pass& pass) override { return ask("deschedule", pass); }
  Task<Result<>> balance(Pass& pass) override { return ask("balance", pass); }

 private:
  Task<Result<>> ask(std::string_view point, Pass& pass) {
    Script& said = Script::now();
    const std::string key = fmt::format("{}/{}", key_, point);
    said.asked.push_back(key);
    said.nodes.push_back(pass.nodes().size());
    for (const std::string& name : said.wants[key])
      for (const PodPtr& pod : pass.snapshot().pods()) {
        if (pod->metadata.name != name) continue;
        if (said.asks_filters && !(pass.may_go(*pod) && pass.may_go_now(*pod))) continue;
        said.results.push_back(
            co_await pass.evict(pod, fmt::format("{} of {}", name, pod->spec.node_name.view())));
      }
    if (const auto it = said.fails.find(key); it != said.fails.end())
      co_return Error(Code::internal, it->second);
    co_return Result<>();
  }

  std::string key_;
};

class ScriptedEvictor final : public Evictor {
 public:
  ScriptedEvictor(std::string_view name, const PluginContext& context)
      : name_(name), snapshot_(context.snapshot), pass_(context.pass) {
    ++Script::now().made;
  }
  std::string why_not(const api::Pod& pod) override {
    return Script::now().keeps[fmt::format("{}/{}", name_, pod.metadata.name)];
  }
  Task<Result<>> evict(std::shared_ptr<const api::Pod> pod, const EvictOptions& options) override {
    Script& said = Script::now();
    said.saw_snapshot = snapshot_() != nullptr;
    said.saw_pass = pass_() != nullptr;
    said.evicted.push_back(
        fmt::format("{}/{}/{}: {}", options.profile, options.plugin, pod->metadata.name, options.reason));
    if (said.evict) co_return co_await said.evict(*pod);
    co_return Result<>();
  }
  Task<Result<>> rehearse(std::shared_ptr<const api::Pod> pod, const EvictOptions&) override {
    Script& said = Script::now();
    co_return said.rehearse ? said.rehearse(*pod) : Result<>();
  }
  void start(TaskGroup&) override { ++Script::now().started; }
  void stop() override { ++Script::now().stopped; }

 private:
  std::string_view name_;
  std::function<const Snapshot*()> snapshot_;
  std::function<Pass*()> pass_;
};

Result<> note(const PluginContext& context) {
  Script::now().checked.push_back(context.client == nullptr);
  if (!Script::now().make_error.empty()) return Error(Code::invalid, Script::now().make_error);
  return {};
}

constexpr char kChooser[] = "Chooser", kBalancer[] = "Balancer", kMigration[] = "MigrationController",
               kOther[] = "OtherEvictor";

template <const char* Name>
Result<std::unique_ptr<Plugin>> make(const Args&, PluginContext& context) {
  KOORD_CHECK(note(context));
  return std::unique_ptr<Plugin>(std::make_unique<ScriptedPlugin>(Name, context));
}
template <const char* Name>
Result<std::unique_ptr<Evictor>> make_evictor(const Args&, PluginContext& context) {
  KOORD_CHECK(note(context));
  return std::unique_ptr<Evictor>(std::make_unique<ScriptedEvictor>(Name, context));
}

constexpr const ArgsType* kArgs = &args_type<ScriptedArgs>;
const PluginEntry kRows[] = {
    {.name = kBalancer, .args = kArgs, .balances = true, .make = &make<kBalancer>},
    {.name = kChooser, .args = kArgs, .deschedules = true, .balances = true, .make = &make<kChooser>},
    {.name = kMigration, .args = kArgs, .make_evictor = &make_evictor<kMigration>},
    {.name = kOther, .make_evictor = &make_evictor<kOther>},
};

}  // namespace

Script::Script() {
  if (script != nullptr) throw std::logic_error("one script at a time");
  script = this;
}
Script::~Script() { script = nullptr; }
Script& Script::now() { return *script; }

PluginTable scripted_table() {
  static const PluginEntry* const kTable[] = {&kRows[0], &kRows[1], &kRows[2], &kRows[3]};
  return kTable;
}

}  // namespace koord::descheduler::test
