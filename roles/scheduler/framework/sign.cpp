// Signing the parts of a pod that several plugins read: see sign.hpp.
#include "framework/sign.hpp"

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduler {

void sign_tolerations(const api::Pod& pod, Signature& signature) {
  signature.add(static_cast<std::int64_t>(pod.spec.tolerations.size()));
  for (const api::Toleration& t : pod.spec.tolerations) {
    signature.add(t.key.view());
    signature.add(t.operator_.view());
    signature.add(t.value.view());
    signature.add(t.effect.view());
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

}  // namespace koord::scheduler
