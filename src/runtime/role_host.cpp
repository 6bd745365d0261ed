// RoleHost: contexts, gates, ports, and the order in which things start and end.
#include "koord/runtime/role_host.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "koord/async/event.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/metrics.hpp"
#include "koord/kube/informer.hpp"
#include "right_check.hpp"
#include "role_server.hpp"

namespace koord::runtime {
namespace {

std::string gates_text(const FlagValues& flags, const std::function<bool(std::string_view)>& wanted) {
  std::string text;
  for (const auto& [name, value] : flags.get_pairs("feature-gates"))
    if (wanted(name)) text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  return text;
}

bool is_group(std::string_view gate) { return gate == "AllAlpha" || gate == "AllBeta"; }

// One name may be a gate of two roles, with defaults of their own.
Result<> check_gates(std::span<const RoleDescriptor* const> roles, const FlagValues& flags) {
  FeatureGates all;
  for (const RoleDescriptor* role : roles)
    for (const FeatureGate& gate : role->gates)
      if (!all.known(gate.name)) all.add(std::span(&gate, 1));
  auto done = all.set(gates_text(flags, [](std::string_view) { return true; }));
  if (!done) return std::move(done).error().context("--feature-gates");
  return {};
}

Result<> check_ports(std::span<const RoleDescriptor* const> roles, const CommandLine& line) {
  std::map<std::uint16_t, std::pair<std::string, std::string>> taken;  // port: role, flag
  for (const RoleDescriptor* role : roles) {
    const FlagValues& flags = line.roles.find(role->name)->second;
    for (const PortFlag& port : role->ports) {
      KOORD_TRY(endpoint, endpoint_of(port, flags));
      const std::uint16_t number = endpoint.port;
      if (number == 0) continue;
      const std::string name(role->name);
      const auto [entry, fresh] = taken.try_emplace(number, name, std::string(port.port));
      if (fresh) continue;
      const auto& [other, flag] = entry->second;
      return Error(Code::invalid, fmt::format("port {} is wanted twice: change --{}.{} or --{}.{}", number,
                                              other, flag, name, port.port));
    }
  }
  return {};
}

// One role's share of the process.
struct RoleSlot {
  const RoleDescriptor* descriptor;
  FlagValues flags;
  FeatureGates gates;
  metrics::Registry metrics;
  HealthChecks health;
  Routes routes;
  Logger log;
  std::unique_ptr<ClientFactory> clients;
  std::optional<RoleContext> context;
  std::optional<RoleServer> server;
  std::unique_ptr<Role> role;

  explicit RoleSlot(Logger logger) : log(std::move(logger)) {}
};

}  // namespace

class RoleHost::Impl {
 public:
  explicit Impl(RoleHostParts p)
      : parts(std::move(p)),
        tasks(parts.executor, [this](std::string_view task, const Error& error) { fail(task, error); }) {}

  void fail(std::string_view role, const Error& error) {
    if (failure || stopping) return;
    failure = error.context(role);
    ended.set();
  }

  Result<> add(const RoleDescriptor& descriptor, const CommandLine& line) {
    auto slot = std::make_unique<RoleSlot>(parts.log.with({kv("role", descriptor.name)}));
    slot->descriptor = &descriptor;
    slot->flags = line.roles.find(descriptor.name)->second;
    slot->gates.add(descriptor.gates);
    KOORD_CHECK(slot->gates.set(gates_text(
        slot->flags, [&](std::string_view gate) { return is_group(gate) || slot->gates.known(gate); })));
    if (parts.process_metrics) parts.process_metrics(slot->metrics);
    slot->clients = parts.clients(fmt::format("koord-{}/{}", descriptor.name, parts.version), slot->metrics);
    slot->context.emplace(RoleContext{descriptor.name, parts.version, parts.executor, parts.clock,
                                      parts.workers, slot->log, slot->metrics, slot->flags, slot->gates,
                                      *slot->clients, parts.informers, slot->health, slot->routes,
                                      [this, name = descriptor.name](Error error) { fail(name, error); },
                                      [this] { ended.set(); }, [this] { left_behind = true; }});
    auto role = descriptor.make(*slot->context);
    if (!role) return std::move(role).error().context(fmt::format("role {}", descriptor.name));
    slot->role = std::move(*role);
    slot->server.emplace(*slot->context);
    slots.push_back(std::move(slot));
    if (is_done()) return {};  // what it was for is done: nobody is asked, and nobody is served
    return slots.back()->server->open(descriptor);
  }

  bool is_done() const { return ended.is_set() && !failure; }

  static Task<Result<>> run_role(RoleSlot& slot) {
    Result<> ended = co_await slot.role->run();
    if (ended) co_return Error(Code::internal, "the role has ended by itself");
    co_return ended;
  }

  /// Says which rights are missing that only a gate or a flag needs which is on; nothing where none is, or
  /// where there is no API server (without Kubernetes).
  void check_rights(RoleSlot& slot) {
    std::vector<Right> wanted = rights_of_gates(slot.descriptor->rights, slot.gates, slot.flags);
    if (wanted.empty()) return;
    if (const auto client = slot.clients->client({}))
      tasks.spawn(fmt::format("{} rights", slot.descriptor->name),
                  tell_missing_rights(**client, parts.clock, slot.log, std::move(wanted)));
  }

  RoleHostParts parts;
  std::vector<std::unique_ptr<RoleSlot>> slots;
  TaskGroup tasks;
  Event ended;
  std::optional<Error> failure;
  bool stopping = false;
  bool left_behind = false;
};

RoleHost::RoleHost(RoleHostParts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}
RoleHost::~RoleHost() = default;

Result<> RoleHost::add(std::span<const RoleDescriptor* const> roles, const CommandLine& line) {
  KOORD_CHECK(check_ports(roles, line));
  KOORD_CHECK(check_gates(roles, line.process));
  for (const RoleDescriptor* role : roles) KOORD_CHECK(impl_->add(*role, line));
  return {};
}

Task<Result<>> RoleHost::run() {
  for (const auto& slot : impl_->slots) {
    impl_->tasks.spawn(std::string(slot->descriptor->name), Impl::run_role(*slot));
    if (!impl_->is_done()) impl_->check_rights(*slot);
  }
  impl_->parts.informers.start();
  KOORD_CO_CHECK(co_await impl_->ended.wait());
  if (impl_->failure) co_return *impl_->failure;
  co_return Result<>();
}

nanoseconds RoleHost::shutdown_delay() const {
  nanoseconds longest{0};
  for (const auto& slot : impl_->slots) longest = std::max(longest, slot->role->shutdown_delay());
  return longest;
}

Task<> RoleHost::stop(nanoseconds grace) {
  impl_->stopping = true;
  co_await impl_->tasks.stop(impl_->parts.clock, grace + shutdown_delay());
  co_await impl_->parts.informers.stop();
  for (const auto& slot : impl_->slots)
    if (slot->server) co_await slot->server->stop();
}

bool RoleHost::left_behind() const { return impl_->left_behind; }

std::vector<std::uint16_t> RoleHost::ports(std::string_view role) const {
  for (const auto& slot : impl_->slots)
    if (slot->descriptor->name == role) return slot->server->ports();
  return {};
}

}  // namespace koord::runtime
