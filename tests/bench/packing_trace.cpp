// The openb trace: see packing_trace.hpp.
#include "packing_trace.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>

namespace koord::scheduling::bench {

namespace {

constexpr std::int64_t kMi = std::int64_t{1} << 20;

std::vector<std::vector<std::string>> read_csv(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  while (std::getline(file, line)) {
    std::vector<std::string> cells(1);
    for (const char each : line) {
      if (each == ',') {
        cells.emplace_back();
      } else if (each != '\r') {
        cells.back() += each;
      }
    }
    rows.push_back(std::move(cells));
  }
  if (!rows.empty()) rows.erase(rows.begin());
  return rows;
}

std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

Trace::Trace(const std::string& folder) {
  for (const auto& cells : read_csv(folder + "/openb_node_list_all_node.csv")) {
    const auto count = static_cast<std::int32_t>(number(cells[3]));
    if (count == 0) continue;
    PackedNode node{.row = {.cpu = number(cells[1]), .memory = number(cells[2]) * kMi, .gpus = count},
                    .model = cells[4]};
    std::fill_n(node.row.free.begin(), count, 1000);
    gpus += 1000 * count;
    nodes.push_back(std::move(node));
  }
  for (const auto& cells : read_csv(folder + "/openb_pod_list_default.csv")) {
    PackedRequest pod{.cpu = number(cells[1]),
                      .memory = number(cells[2]) * kMi,
                      .gpus = static_cast<std::int32_t>(number(cells[3])),
                      .share = static_cast<std::int32_t>(number(cells[4]))};
    if (pod.gpus == 0) pod.share = 0;
    pods.push_back(pod);
  }
}

bool shares(const PackedRequest& pod) { return pod.gpus == 1 && pod.share < 1000; }

std::vector<PackedPod> arrivals(const Trace& trace, const Variant& variant, std::mt19937& random) {
  std::vector<double> weights;
  for (const PackedRequest& pod : trace.pods)
    weights.push_back(shares(pod) ? variant.sharing : pod.gpus > 1 ? variant.multi : 1);
  std::discrete_distribution<std::size_t> which(weights.begin(), weights.end());
  std::uniform_real_distribution<double> chance(0, 1);
  std::vector<double> gpus;
  for (const PackedNode& node : trace.nodes) gpus.push_back(node.row.gpus);
  std::discrete_distribution<std::size_t> whose(gpus.begin(), gpus.end());
  std::vector<PackedPod> pods;
  for (std::int64_t asked = 0; asked < trace.gpus * 13 / 10;) {
    PackedPod pod{.request = trace.pods[which(random)], .model = {}};
    pod.request.cpu = static_cast<std::int64_t>(static_cast<double>(pod.request.cpu) * variant.cpu);
    if (pod.request.gpus > 0 && chance(random) < variant.constrained)
      pod.model = trace.nodes[whose(random)].model;
    asked += static_cast<std::int64_t>(pod.request.gpus) * pod.request.share;
    pods.push_back(std::move(pod));
  }
  return pods;
}

}  // namespace koord::scheduling::bench
