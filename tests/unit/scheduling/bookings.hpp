// Bookings: objects of a throw-away kind that have room on a node, and the plugin that has them placed.
#pragma once

#include <memory>
#include <string>

#include "koord/api/schema/schema.hpp"
#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "koord/scheduling/plugin/placed_objects.hpp"

namespace koord::scheduling::test {

struct BookingSpec {
  std::string cpu;
  std::int32_t priority = 0;
  KOORD_STRUCT(BookingSpec);
};

struct BookingStatus {
  Symbol node, nominated;
  std::string phase, reason, message;
  KOORD_STRUCT(BookingStatus);
};

struct Booking {
  api::ObjectMeta metadata;
  BookingSpec spec;
  BookingStatus status;
  KOORD_STRUCT(Booking);
};

class Bookings final : public PlacedObjects<Booking> {
 public:
  std::string_view word() const override { return "booking"; }
  std::optional<api::Pod> placeholder(const Booking& booking) const override;
  std::optional<ObjectPatch> failure(const Booking& now, const AttemptFailure& failure) const override;
  std::optional<ObjectPatch> nomination(const Booking& now, const Symbol& node) const override;
  /// It is not deleted, it says that it is at its end; one of a negative priority is deleted.
  Eviction eviction(const Booking& now, const Preemptor& by) const override;
};

/// Has bookings placed, and binds them; pods it leaves to others.
class Booker final : public Plugin, public BindPlugin {
 public:
  explicit Booker(const PluginContext& context) { place<Booking>(context, kind_); }
  bool sign(const PodInfo&, Signature&) const override { return true; }
  bool binds(const PodInfo& pod) const override;
  std::shared_ptr<BindWork> bind(PodAttempt& attempt) override;

 private:
  std::shared_ptr<const Bookings> kind_ = std::make_shared<Bookings>();
};

inline constexpr PluginEntry kBooker{.name = "Booker", .make = &make<Booker>};

inline std::shared_ptr<const Booking> make_booking(std::string name, std::string cpu = "1",
                                                   const std::function<void(Booking&)>& edit = {}) {
  auto booking = std::make_shared<Booking>();
  booking->metadata.name = name;
  booking->metadata.namespace_ = "default";
  booking->metadata.uid = "uid-of-" + name;
  booking->metadata.resource_version = "1";
  booking->spec.cpu = std::move(cpu);
  if (edit) edit(*booking);
  return booking;
}

inline std::shared_ptr<const Booking> changed(const std::shared_ptr<const Booking>& booking,
                                              const std::function<void(Booking&)>& edit) {
  auto copy = std::make_shared<Booking>(*booking);
  edit(*copy);
  return copy;
}

}  // namespace koord::scheduling::test
