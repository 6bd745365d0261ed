// Node selector terms: matching, validation and signing.
#pragma once

#include <string>

#include "framework/args.hpp"
#include "koord/api/node.hpp"

namespace koord::scheduler {

/// A term without requirements, or with one that is malformed, matches nothing.
bool term_matches(const api::NodeSelectorTerm& term, const api::Node& node);
bool any_term_matches(const api::NodeSelector& selector, const api::Node& node);

void validate_term(const api::NodeSelectorTerm& term, const std::string& path, FieldErrors& errors);
void validate_terms(const api::NodeSelector& selector, const std::string& path, FieldErrors& errors);

void sign_term(const api::NodeSelectorTerm& term, Signature& signature);

}  // namespace koord::scheduler
