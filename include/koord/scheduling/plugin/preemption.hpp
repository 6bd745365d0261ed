// Preemption: who has to go to make room for a pod, and whose nomination becomes another by it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "koord/base/symbol.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduling {

struct Preemption {
  struct Victim {
    std::shared_ptr<const api::Pod> pod;
    /// For a permit, which it has been refused: it need not be deleted.
    bool waited = false;
  };
  /// Of a pod that is not the one that is tried (that one's is PostFilterResult::nominate).
  struct Nominated {
    std::shared_ptr<const api::Pod> pod;
    Symbol node = {};  // empty: its nomination is taken back
  };
  /// On one node or on several; asked to go by the writer, while the pod waits: see
  /// PostFilterPlugin::preempted().
  std::vector<Victim> victims = {};
  /// Members of its job that wait are nominated together with it; who was nominated where it goes yields.
  std::vector<Nominated> nominations = {};
  /// For whom, where a job preempts ("namespace/name" of a pod that is alone, a gang group's id): victims are
  /// told. Empty: the pod that is tried.
  std::string job = {};
  std::size_t chosen = 0;  // victims, with those that are ending already
  bool tried = false;      // somebody looked for victims
};

}  // namespace koord::scheduling
