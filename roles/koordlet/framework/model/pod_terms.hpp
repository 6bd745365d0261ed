// PodTerms: what single features read of a pod for themselves; the type of what one reads is its key.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "koord/base/typed_slots.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::koordlet {

/// Each feature has its own type, beside its code. Null: the pod says nothing of it.
using PodTerms = TypedSlots<struct OfPod>;

/// Reads one feature's terms out of a pod as it runs (its spec, with the limits that are in force, its labels
/// and annotations) and puts them where the pod says something. What it cannot read it names ("ANNOTATION:
/// what") and leaves out. On any thread.
using PodTermsReader = void (*)(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings);
using PodTermsReaders = std::span<const PodTermsReader>;

}  // namespace koord::koordlet
