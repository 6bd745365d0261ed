// `koord top --cluster`: whatever an API server answers (an object a line), the tables keep to the terminal:
// no control characters of others, no line wider than it.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "koord/api/figures/cluster_figures.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "top/cluster_text.hpp"

using namespace koord;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

template <class T>
void add(figures::ClusterFigures& figures, std::string_view line) {
  if (const auto object = api::decode<T>(line)) figures.add(*object);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kWidth = 90;
  figures::ClusterFigures figures;
  for (std::string_view rest(reinterpret_cast<const char*>(data), size); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    add<api::Node>(figures, line);
    add<api::NodeMetric>(figures, line);
    add<api::Pod>(figures, line);
    add<api::Reservation>(figures, line);
    add<api::ElasticQuota>(figures, line);
    add<api::PodGroup>(figures, line);
  }
  const figures::ClusterView view =
      figures.view("https://there", api::Time(std::chrono::sys_seconds(std::chrono::seconds(1'767'225'600))));
  const koordlet::Page page{.width = kWidth};
  const std::string text =
      fmt::format("{}{}{}{}{}", koordlet::cluster_text(view, {}, page), koordlet::lent_text(view, page),
                  koordlet::quotas_text(view, page), koordlet::gangs_text(view, page),
                  koordlet::reservations_text(view, page));
  for (std::string_view table = text; !table.empty();) {
    const auto end = table.find('\n');
    check(end != std::string_view::npos);
    const std::string_view line = table.substr(0, end);
    const auto columns =
        std::count_if(line.begin(), line.end(), [](unsigned char c) { return (c & 0xc0) != 0x80; });
    check(std::cmp_less_equal(columns, kWidth));
    check(std::none_of(line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }));
    table.remove_prefix(end + 1);
  }
  return 0;
}
