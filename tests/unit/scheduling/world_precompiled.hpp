// What nearly every test of the engine includes, parsed once a build (meson.build), with what the engine
// itself includes. Files include what they use all the same.
#pragma once

#include <catch2/catch.hpp>

#include "../../../src/scheduling/precompiled.hpp"
#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/koordinator/reservation.hpp"
#include "world.hpp"
