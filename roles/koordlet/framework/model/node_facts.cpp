// Reading what the machine is made of.
#include "framework/model/node_facts.hpp"

#include <fmt/format.h>

#include <array>
#include <span>

#include "koord/host/file.hpp"
#include "koord/host/procfs.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr std::uint64_t kMiB = 1ULL << 20, kGiB = 1ULL << 30;
constexpr std::array<std::string_view, 2> kSizes = {"2048kB", "1048576kB"};
/// More than any machine has: a file that says so says nothing.
constexpr std::uint64_t kMostPages = 1ULL << 32;

Result<std::uint64_t> read_pages(const std::string& path) {
  const auto text = read_file(path);
  if (!text) {
    if (text.error().code() == Code::not_found) return 0;
    return text.error();
  }
  auto pages = parse_huge_pages(*text);
  if (!pages) return std::move(pages).error().context(path);
  return pages;
}

/// `files`: of both sizes.
Result<HugePages> read_huge_pages(std::span<const std::string> files) {
  KOORD_TRY(two_mib, read_pages(files[0]));
  KOORD_TRY(one_gib, read_pages(files[1]));
  return HugePages{two_mib * 2 * kMiB, one_gib * kGiB};
}

}  // namespace

Result<std::uint64_t> parse_huge_pages(std::string_view text) {
  std::uint64_t pages = 0;
  if (!host::to_number(host::trimmed(text), pages) || pages > kMostPages)
    return Error(Code::parse, fmt::format("'{}' is no number of pages", host::trimmed(text).substr(0, 32)));
  return pages;
}

std::vector<std::string> huge_page_files(const host::Root& root, const std::vector<NumaMemory>& nodes,
                                         std::string_view name) {
  std::vector<std::string> files;
  for (const NumaMemory& node : nodes)
    for (const std::string_view size : kSizes)
      files.push_back(fmt::format("{}devices/system/node/node{}/hugepages/hugepages-{}/{}", root.sys, node.id,
                                  size, name));
  if (nodes.empty())
    for (const std::string_view size : kSizes)
      files.push_back(fmt::format("{}kernel/mm/hugepages/hugepages-{}/{}", root.sys, size, name));
  return files;
}

Result<NodeFacts> read_node_facts(const host::Root& root, bool huge_pages) {
  NodeFacts facts;
  KOORD_TRY(topology, host::read_topology(root));
  facts.topology = std::move(topology);
  KOORD_TRY(text, read_file(fmt::format("{}cpuinfo", root.proc)));
  KOORD_TRY(cpuinfo, host::parse_cpuinfo(text));
  facts.cpu_model = std::move(cpuinfo.model_name);
  facts.vendor_id = std::move(cpuinfo.vendor_id);
  if (const auto off = read_file(fmt::format("{}devices/system/cpu/intel_pstate/no_turbo", root.sys)))
    facts.turbo = host::trimmed(*off) == "0";
  if (const auto ways = read_file(fmt::format("{}resctrl/info/L3/cbm_mask", root.sys_fs)))
    facts.l3_ways = host::trimmed(*ways);
  if (const auto meminfo = read_file(fmt::format("{}meminfo", root.proc)))
    if (const auto info = host::parse_meminfo(*meminfo)) facts.memory = info->total;
  for (const host::NumaNode& node : facts.topology.nodes) {
    const std::string path = fmt::format("{}devices/system/node/node{}/meminfo", root.sys, node.id);
    const auto meminfo = read_file(path);
    if (!meminfo) {
      if (meminfo.error().code() == Code::not_found) continue;  // a kernel without NUMA
      return meminfo.error();
    }
    auto info = host::parse_meminfo(*meminfo);
    if (!info) return std::move(info).error().context(path);
    facts.numa_memory.push_back({node.id, info->total});
  }
  if (!huge_pages) return facts;
  const std::vector<std::string> files = huge_page_files(root, facts.numa_memory);
  for (std::size_t i = 0; i < files.size(); i += kSizes.size()) {
    KOORD_TRY(huge, read_huge_pages(std::span(files).subspan(i, kSizes.size())));
    (facts.numa_memory.empty() ? facts.huge : facts.numa_memory[i / kSizes.size()].huge) = huge;
  }
  return facts;
}

}  // namespace koord::koordlet
