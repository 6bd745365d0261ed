// RoomBeside: what besides a node has to have room for a pod (a quota), and who may go for that.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "koord/base/symbol.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling::preemption {

class Preemptor;
class Vacancy;

/// Of a plugin that keeps account of pods whatever their nodes are, and admits only those that it has room
/// for (an AdmitPlugin). On the engine's thread.
class RoomBeside {
 public:
  virtual ~RoomBeside() = default;

  /// Not chosen, though it is of a lower priority.
  virtual bool spares(const PodInfo& victim, const PodInfo& preemptor) const = 0;
  /// For as long as one row is looked at.
  virtual std::unique_ptr<Vacancy> beside(const PodInfo& preemptor) const = 0;

  // Of pods that are placed together (Clearing).

  /// Looks for victims for them at the plugin's place among those that are asked at PostFilter.
  virtual Preemptor& preemptor() = 0;
  /// Pods of one account share what it has. Empty: there is none for the pod.
  virtual Symbol account(const PodInfo& pod) const = 0;
  /// For as long as a trial lasts: what a pod that is on a node has of its account is free, until it is
  /// brought back. Nobody is told of it. Done twice it is done once.
  virtual void set_aside(const PodInfo& pod) = 0;
  virtual void bring_back(const PodInfo& pod) = 0;
  /// Of the pod's account, and of those above it, no more is in use now than may be.
  virtual bool holds(const PodInfo& pod) const = 0;
  /// Room has been made for these, all that wait of a group: what those of them use that are nominated to
  /// nodes is for nobody else who is not more important, until they are not any more.
  virtual void keep_for(const std::string& group, std::span<const std::shared_ptr<const api::Pod>> pods) = 0;
};

}  // namespace koord::scheduling::preemption
