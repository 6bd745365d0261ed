// Tolerations: see tolerations.hpp.
#include "framework/tolerations.hpp"

#include <algorithm>

namespace koord::scheduler {

bool tolerated(std::span<const api::Toleration> tolerations, const api::Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(), [&](const api::Toleration& t) {
    if (!t.effect.empty() && t.effect != taint.effect) return false;
    if (!t.key.empty() && t.key != taint.key) return false;
    if (t.operator_.empty() || t.operator_ == "Equal") return t.value == taint.value;
    return t.operator_ == "Exists";
  });
}

void sign_tolerations(const api::Pod& pod, Signature& signature) {
  signature.add(static_cast<std::int64_t>(pod.spec.tolerations.size()));
  for (const api::Toleration& t : pod.spec.tolerations)
    for (const Symbol& text : {t.key, t.operator_, t.value, t.effect}) signature.add(text.view());
}

}  // namespace koord::scheduler
