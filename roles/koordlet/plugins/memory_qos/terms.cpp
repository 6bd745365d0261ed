// koordinator.sh/memoryQOS: see terms.hpp.
#include "plugins/memory_qos/terms.hpp"

#include <memory>
#include <utility>

#include "framework/objects/annotations.hpp"

namespace koord::koordlet {

void read_memory_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings) {
  if (auto said = read<api::PodMemoryQos>(pod.metadata, warnings))
    terms.put(std::make_shared<const api::PodMemoryQos>(std::move(*said)));
}

}  // namespace koord::koordlet
