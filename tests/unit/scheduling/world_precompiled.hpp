// What nearly every test of the engine includes, parsed once a build (meson.build), with what all of koord includes.
// Files include what they use all the same.
#pragma once

#include <catch2/catch.hpp>

#include "precompiled.hpp"
#include "world.hpp"
