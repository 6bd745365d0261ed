// Signing the parts of a pod that several plugins read.
#pragma once

#include "framework/plugin.hpp"

namespace koord::api {
struct NodeSelectorTerm;
}

namespace koord::scheduler {

void sign_tolerations(const api::Pod& pod, Signature& signature);
void sign_term(const api::NodeSelectorTerm& term, Signature& signature);

}  // namespace koord::scheduler
