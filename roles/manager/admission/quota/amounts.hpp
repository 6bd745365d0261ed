// Lists of resources, added up and compared as Kubernetes' quota package does.
#pragma once

#include <string>
#include <vector>

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::manager {

/// What is added to 0 keeps its format.
void add(api::ResourceList& to, const api::ResourceList& more);
/// What becomes 0 is taken out.
void take(api::ResourceList& from, const api::ResourceList& less);
/// Of each resource the larger amount.
void raise(api::ResourceList& to, const api::ResourceList& other);
/// Of no resource more than `limit` has: what it does not name it has nothing of, nor does `amounts`.
bool is_within(const api::ResourceList& amounts, const api::ResourceList& limit);
/// Whether every resource of `part` is named by `whole`.
bool names_all(const api::ResourceList& whole, const api::ResourceList& part);
/// The names of what is below 0, as Go prints a list: "[cpu memory]"; empty: none is.
std::string negative_names(const api::ResourceList& amounts);
/// "cpu=2,memory=1Gi", by name.
std::string to_text(const api::ResourceList& amounts);

}  // namespace koord::manager
