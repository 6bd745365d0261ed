// Signing the parts of a pod that several plugins read.
#pragma once

#include "koord/scheduling/plugin/plugin.hpp"

namespace koord::api {
struct LabelSelector;
struct NodeSelector;
struct NodeSelectorTerm;
struct PodSpec;
}  // namespace koord::api

namespace koord::scheduling {

void sign_tolerations(const api::Pod& pod, Signature& signature);
/// nullptr: there is none.
const api::NodeSelector* required_node_selector(const api::PodSpec& spec);
/// spec.nodeSelector and the required node affinity: all that api::RequiredNodeAffinity reads.
void sign_required_affinity(const api::PodSpec& spec, Signature& signature);
void sign_selector(const api::LabelSelector& selector, Signature& signature);
void sign_term(const api::NodeSelectorTerm& term, Signature& signature);

}  // namespace koord::scheduling
