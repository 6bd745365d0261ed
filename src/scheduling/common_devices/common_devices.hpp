// CommonDevices: the GPUs that two plugins give out, each by names of its own, so that neither gives what the
// other has given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace koord::scheduling {

/// DeviceShare knows a machine's GPUs as minors of its Device, DynamicResources as devices of slices of the
/// same node (spec.nodeName). Two are the same GPU if they have a name in common: the Device's id, or its PCI
/// bus. A claim's device, or a part of it, takes the whole GPU from DeviceShare; whoever has some of a GPU by
/// DeviceShare takes from the claims all devices that are that GPU or parts of it.
/// A driver is one of GPUs if its name says so, or if a device of it is a GPU that a Device lists.
/// What nobody can name holds more, not less: GPUs that somebody has, but that no Device lists (it is gone,
/// or not there yet), take all the node's devices of drivers of GPUs; a claim's device of such a driver of
/// which no slice tells takes all GPUs of its node. Of what a claim has the names stay known when its slice
/// goes.
/// One for all profiles (SharedParts); belongs to the engine's thread.
class CommonDevices {
 public:
  /// A machine's GPUs, a bit each, as DeviceShare numbers them.
  using Gpus = std::uint64_t;
  /// A slice's device, as DynamicResources numbers them: in use by one device at a time.
  using Number = std::uint32_t;

  /// Who is to be told.
  class Side {
   public:
    virtual ~Side() = default;
    /// The other side has taken or given back GPUs of the node, or names are others: ask anew.
    virtual void others_changed(std::string_view node) = 0;
  };
  struct Gpu {
    std::string id, bus;  // empty: it has none
  };
  struct Offered {
    Number number;
    std::string driver;
    std::vector<std::string> ids, buses;  // those that it, or what it is a part of, is known by
  };
  struct Claimed {
    Number number;
    std::string driver;
    std::string node;  // for which it was allocated; empty: nobody knows
  };

  /// From now on. They outlive this, or what it tells.
  void set_shares_side(Side* side) { shares_side_ = side; }
  void set_claims_side(Side* side) { claims_side_ = side; }

  /// The GPUs of the node's Device, by number: 64 at most count. None: there is no Device (any more).
  void list(const std::string& node, std::vector<Gpu> gpus);
  /// Those of which DeviceShare's pods and reservations have some. `unlisted`: they have others, too.
  void share(const std::string& node, Gpus taken, bool unlisted);
  /// Those that claims have.
  Gpus claimed(std::string_view node) const;

  /// The devices of all slices of the node.
  void offer(const std::string& node, std::vector<Offered> devices);
  /// A claim has it, and until release(): as often as it was told.
  void claim(const Claimed& device);
  void release(Number number);
  /// Whether DeviceShare's pods and reservations have some of the GPU that the device is, or is a part of.
  bool shared(Number number) const;

  /// GPUs that both have given: each by another program, or before names were known.
  Gpus twice(std::string_view node) const;
  /// Whether both give out GPUs of the node and no name says which are the same: each may give what the other
  /// has given.
  bool nameless(std::string_view node) const;

 private:
  struct Device {
    Offered offered;
    Gpus is = 0;       // of its node
    bool told = true;  // a slice tells of it; no: it stays known for as long as a claim has it
  };
  struct Machine {
    std::vector<Gpu> gpus;
    Gpus shared = 0;
    bool unlisted = false;
    std::unordered_map<Number, Device> devices;
    std::unordered_set<Number> untold;  // claims have them, and no slice has told of them
    Gpus claimed = 0;                   // follows from the others

    bool has_shares() const { return !gpus.empty() || shared != 0 || unlisted; }
    bool has_claims() const { return !devices.empty() || !untold.empty(); }
  };
  struct Holding {
    std::uint32_t claims = 0;
    std::string driver, node;
  };

  Machine* find(std::string_view node);
  const Machine* find(std::string_view node) const;
  static Gpus matching(const Machine& machine, const Offered& device);
  bool is_of_gpus(std::string_view driver) const;
  Gpus claimed_of(const Machine& machine) const;
  void move_here(Number number, const std::string& node);
  void learn_drivers(const Machine& machine);
  void names_changed(const std::string& node);
  void claims_changed(const std::string& node);
  void forget_if_empty(const std::string& node);

  std::unordered_map<std::string, Machine> machines_;  // by node
  std::unordered_map<Number, std::string> nodes_;      // of devices of machines
  std::unordered_map<Number, Holding> claimed_;
  std::unordered_set<std::string> gpu_drivers_;  // a device of theirs is a GPU that a Device lists
  Side* shares_side_ = nullptr;
  Side* claims_side_ = nullptr;
};

}  // namespace koord::scheduling
