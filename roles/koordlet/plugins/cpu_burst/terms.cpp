// koordinator.sh/cpuBurst: see terms.hpp.
#include "plugins/cpu_burst/terms.hpp"

#include <memory>
#include <utility>

#include "framework/objects/annotations.hpp"

namespace koord::koordlet {

void read_burst_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings) {
  if (auto said = read<api::PodCpuBurst>(pod.metadata, warnings))
    terms.put(std::make_shared<const api::PodCpuBurst>(std::move(*said)));
}

}  // namespace koord::koordlet
