// Explains a pod to the person who waits for it, on an engine that holds the cluster.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/what_if/explanation.hpp"

namespace koord::scheduling::explain {

struct Question {
  std::shared_ptr<const api::Pod> pod;
  bool exists = true;     // the cluster has it
  bool defaults = false;  // nobody said which configuration the scheduler has
  std::size_t ahead = 0;  // pods that wait and come before it in the queue
  std::size_t best = 5;   // so many of the nodes that would do are shown
  WallTime now;
  std::function<void(std::string_view)> progress = [](std::string_view) {};
  /// Asked before the engine is, but for the first time: once it says true the rest is left out, and a note
  /// says so.
  std::function<bool()> give_up = [] { return false; };
};

/// The engine holds the cluster and has decided nothing; a profile is chosen by the pod's scheduler name, the
/// first one if there is none of that name. Afterwards the engine is good for nothing else.
ExplanationView explain(Engine& engine, const Question& question);

struct ReservationQuestion {
  kube::Object reservation;
  /// Of the cluster those that wait for a node.
  std::vector<std::shared_ptr<const api::Pod>> waiting = {};
  /// The rest of the question; its pod is the reservation's.
  Question rest = {};
};

/// The same of a reservation: where it is or why it waits, who has what of it, and who could. One that is on
/// a node is not judged anew: its pods are in its room.
ExplanationView explain(Engine& engine, const ReservationQuestion& question);

}  // namespace koord::scheduling::explain
