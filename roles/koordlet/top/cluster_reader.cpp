// Lists, a page at a time: see cluster_reader.hpp.
#include "top/cluster_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/runtime/command_cluster.hpp"

namespace koord::koordlet {

namespace {

constexpr std::uint32_t kPage = 500;
/// Pods that have not ended.
constexpr std::string_view kAlive = "status.phase!=Succeeded,status.phase!=Failed";

}  // namespace

ClusterReader::ClusterReader(std::unique_ptr<kube::Transport> transport, Clock& clock,
                             kube::ClientConfig config, Progress progress)
    : transport_(std::move(transport)),
      client_(*transport_, clock, {}),
      config_(std::move(config)),
      progress_(std::move(progress)) {}

Result<std::unique_ptr<ClusterReader>> ClusterReader::make(asio::any_io_executor executor, Clock& clock,
                                                           kube::ClientConfig config, Progress progress) {
  KOORD_TRY(transport, kube::make_transport(std::move(executor), clock, config));
  return std::unique_ptr<ClusterReader>(
      new ClusterReader(std::move(transport), clock, std::move(config), std::move(progress)));
}

template <class T>
Task<Result<>> ClusterReader::each(kube::ListOptions options, figures::ClusterFigures& figures) {
  options.limit = kPage;
  std::size_t read = 0;
  do {
    KOORD_CO_TRY(page, co_await client_.list<T>(options));
    for (const auto& item : page.items) figures.add(*item);
    read += page.items.size();
    const auto left =
        static_cast<std::size_t>(std::max<std::int64_t>(0, page.meta.remaining_item_count.value_or(0)));
    options.continue_token = page.meta.continue_;
    if (!options.continue_token.empty() || read > kPage)
      progress_(fmt::format("listing {}", api::kind_of(api::schema<T>()).plural), read,
                left > 0 ? read + left : 0);
  } while (!options.continue_token.empty());
  co_return Result<>();
}

/// Whether all of the kind are known now.
template <class T>
Task<Result<bool>> ClusterReader::if_allowed(kube::ListOptions options, figures::ClusterFigures& figures) {
  const Result<> listed = co_await each<T>(std::move(options), figures);
  if (listed) co_return true;
  if (listed.error().code() == Code::not_found) {
    undefined_.push_back(std::string(api::kind_of(api::schema<T>()).plural));
    co_return true;  // there are none
  }
  if (listed.error().code() != Code::forbidden || must_be_allowed_) co_return listed.error();
  figures.note(fmt::format("this user may not list {}: {}", api::kind_of(api::schema<T>()).plural,
                           listed.error().message()));
  co_return false;
}

Task<Result<figures::ClusterFigures>> ClusterReader::read_all(WhatToRead what, std::string ns) {
  figures::ClusterFigures figures;
  undefined_.clear();
  must_be_allowed_ = !what.nodes && !what.all_pods;
  if (what.nodes) {
    KOORD_CO_CHECK(co_await each<api::Node>({}, figures));
    KOORD_CO_CHECK(co_await if_allowed<api::NodeMetric>({}, figures));
  }
  kube::ListOptions in_namespace;
  in_namespace.ns = ns;
  if (what.all_pods) {
    kube::ListOptions alive = in_namespace;
    alive.field_selector = kAlive;
    KOORD_CO_CHECK(co_await each<api::Pod>(std::move(alive), figures));
  }
  if (what.waiting) {
    kube::ListOptions waiting = in_namespace;
    waiting.field_selector = "spec.nodeName=,status.phase=Pending";
    KOORD_CO_CHECK(co_await each<api::Pod>(std::move(waiting), figures));
  }
  if (what.reservations) KOORD_CO_CHECK(co_await if_allowed<api::Reservation>({}, figures));
  if (what.quotas) {
    KOORD_CO_TRY(known, co_await if_allowed<api::ElasticQuota>({}, figures));
    if (known) figures.know_quotas();
  }
  if (what.groups) {
    KOORD_CO_TRY(known, co_await if_allowed<api::PodGroup>(in_namespace, figures));
    if (known) figures.know_groups();
  }
  if (what.best_effort) {
    kube::ListOptions best_effort = in_namespace;
    best_effort.label_selector = fmt::format("{}=BE", api::kQosLabel);
    best_effort.field_selector = fmt::format("spec.nodeName!=,{}", kAlive);
    KOORD_CO_CHECK(co_await each<api::Pod>(std::move(best_effort), figures));
  }
  if (!undefined_.empty())
    figures.note(fmt::format(
        "the API server does not serve {}: koord crds | kubectl apply --server-side -f - has it do so",
        fmt::join(undefined_, ", ")));
  co_return std::move(figures);
}

Task<Result<figures::ClusterFigures>> ClusterReader::read(WhatToRead what, std::string ns) {
  auto figures = co_await read_all(what, std::move(ns));
  if (!figures) co_return runtime::at_server(config_, figures.error());
  co_return std::move(figures);
}

}  // namespace koord::koordlet
