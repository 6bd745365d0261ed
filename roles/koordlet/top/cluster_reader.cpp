// Lists, a page at a time: see cluster_reader.hpp.
#include "top/cluster_reader.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "koord/base/version.hpp"
#include "koord/kube/config.hpp"

namespace koord::koordlet {

namespace {

constexpr std::uint32_t kPage = 500;

}  // namespace

ClusterReader::ClusterReader(std::unique_ptr<kube::Transport> transport, Clock& clock, std::string server)
    : transport_(std::move(transport)), client_(*transport_, clock, {}), server_(std::move(server)) {}

Result<std::unique_ptr<ClusterReader>> ClusterReader::make(asio::any_io_executor executor, Clock& clock,
                                                           const std::string& kubeconfig,
                                                           const std::string& context) {
  const kube::GetEnv env = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
  KOORD_TRY(config, kube::find_config(kubeconfig, context, env));
  config.user_agent = fmt::format("koord-top/{}", build_info().version);
  KOORD_TRY(transport, kube::make_transport(std::move(executor), clock, config));
  return std::unique_ptr<ClusterReader>(new ClusterReader(std::move(transport), clock, config.server));
}

template <class T>
Task<Result<>> ClusterReader::each(kube::ListOptions options, ClusterFigures& figures) {
  options.limit = kPage;
  do {
    KOORD_CO_TRY(page, co_await client_.list<T>(options));
    for (const auto& item : page.items) figures.add(*item);
    options.continue_token = page.meta.continue_;
  } while (!options.continue_token.empty());
  co_return Result<>();
}

Task<Result<ClusterFigures>> ClusterReader::read() {
  ClusterFigures figures;
  KOORD_CO_CHECK(co_await each<api::Node>({}, figures));
  const Result<> metrics = co_await each<api::NodeMetric>({}, figures);
  if (!metrics && metrics.error().code() != Code::not_found) co_return metrics.error();
  kube::ListOptions waiting;
  waiting.field_selector = "spec.nodeName=,status.phase=Pending";
  KOORD_CO_CHECK(co_await each<api::Pod>(std::move(waiting), figures));
  // Who may not list them sees the rest.
  const auto can_do_without = [](const Result<>& listed) {
    return listed || listed.error().code() == Code::not_found || listed.error().code() == Code::forbidden;
  };
  const Result<> reservations = co_await each<api::Reservation>({}, figures);
  if (!can_do_without(reservations)) co_return reservations.error();
  const Result<> quotas = co_await each<api::ElasticQuota>({}, figures);
  if (!can_do_without(quotas)) co_return quotas.error();
  kube::ListOptions best_effort;
  best_effort.label_selector = fmt::format("{}=BE", api::kQosLabel);
  best_effort.field_selector = "spec.nodeName!=";
  KOORD_CO_CHECK(co_await each<api::Pod>(std::move(best_effort), figures));
  co_return std::move(figures);
}

}  // namespace koord::koordlet
