// Signing the parts of a pod that several plugins read: see sign.hpp.
#include "scheduling/plugin/sign.hpp"

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling {

void sign_tolerations(const api::Pod& pod, Signature& signature) {
  signature.add(static_cast<std::int64_t>(pod.spec.tolerations.size()));
  for (const api::Toleration& t : pod.spec.tolerations) {
    signature.add(t.key.view());
    signature.add(t.operator_.view());
    signature.add(t.value.view());
    signature.add(t.effect.view());
  }
}

const api::NodeSelector* required_node_selector(const api::PodSpec& spec) {
  return spec.affinity && spec.affinity->node_affinity ? spec.affinity->node_affinity->required.get()
                                                       : nullptr;
}

void sign_required_affinity(const api::PodSpec& spec, Signature& signature) {
  signature.add(static_cast<std::int64_t>(spec.node_selector.size()));
  for (const auto& [key, value] : spec.node_selector) {
    signature.add(key.view());
    signature.add(value);
  }
  const api::NodeSelector* required = required_node_selector(spec);
  signature.add(required == nullptr ? -1 : static_cast<std::int64_t>(required->node_selector_terms.size()));
  if (required != nullptr)
    for (const auto& term : required->node_selector_terms) sign_term(term, signature);
}

void sign_selector(const api::LabelSelector& selector, Signature& signature) {
  signature.add(static_cast<std::int64_t>(selector.match_labels.size()));
  for (const auto& [key, value] : selector.match_labels) {
    signature.add(key.view());
    signature.add(value.view());
  }
  signature.add(static_cast<std::int64_t>(selector.match_expressions.size()));
  for (const api::LabelSelectorRequirement& r : selector.match_expressions) {
    signature.add(r.key.view());
    signature.add(r.operator_.view());
    signature.add(static_cast<std::int64_t>(r.values.size()));
    for (const Symbol& v : r.values) signature.add(v.view());
  }
}

void sign_term(const api::NodeSelectorTerm& term, Signature& signature) {
  for (const auto* list : {&term.match_expressions, &term.match_fields}) {
    signature.add(static_cast<std::int64_t>(list->size()));
    for (const auto& r : *list) {
      signature.add(r.key.view());
      signature.add(r.operator_.view());
      signature.add(static_cast<std::int64_t>(r.values.size()));
      for (const Symbol& v : r.values) signature.add(v.view());
    }
  }
}

}  // namespace koord::scheduling
