// The node agent as a role: everything is made here, in the order in which it depends on each other.
#include "role.hpp"

#include <array>
#include <cstdlib>

#include "flags.hpp"
#include "framework/inventory.hpp"
#include "gates.hpp"
#include "koord/async/event.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"

namespace koord::koordlet {

namespace {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

class Agent final : public runtime::Role {
 public:
  Agent(runtime::RoleContext& context, Place place)
      : context_(context),
        place_(std::move(place)),
        tasks_(context.executor, [this](std::string_view task, const Error& error) { fail(task, error); }) {
    context.metrics.set_common_label("node", place_.node_name);
  }

  Task<Result<>> run() override {
    Result<> ended = co_await ended_.wait();
    co_await begin_cleanup();
    co_await tasks_.stop(context_.clock, std::chrono::seconds(5));
    if (failure_) co_return *failure_;
    co_return ended;
  }

 private:
  void fail(std::string_view what, const Error& error) {
    if (failure_) return;
    context_.log.error("the agent ends", kv("task", what), kv("error", error));
    failure_ = error;
    ended_.set();
  }

  runtime::RoleContext& context_;
  Place place_;
  InventoryHub hub_;
  Event ended_;
  std::optional<Error> failure_;
  TaskGroup tasks_;
};

Result<std::unique_ptr<runtime::Role>> make(runtime::RoleContext& context) {
  KOORD_TRY(place, read_place(context.flags, environment));
  if (place.node_name.empty())
    return Error(Code::invalid,
                 "the node's name is not known: set NODE_NAME in the environment, or --node-name");
  return std::unique_ptr<runtime::Role>(std::make_unique<Agent>(context, std::move(place)));
}

constexpr std::array<runtime::PortFlag, 1> kPorts = {{{"addr", "", false}}};

}  // namespace

const runtime::RoleDescriptor& role() {
  static const runtime::RoleDescriptor kRole{
      .name = "koordlet",
      .summary = "The node agent: measures the node, reports it, keeps latency-sensitive work safe.",
      .flags = flags(),
      .gates = gates(),
      .ports = kPorts,
      .single_dash = true,
      .make = &make,
  };
  return kRole;
}

}  // namespace koord::koordlet
