// SPDX-License-Identifier: PostgreSQL
#pragma once

// Catch2 has a CHECK of its own: in tests it wins over the one for broken invariants.
#include "sidecar/base/check.h"
#undef CHECK

// Debian 12 has Catch2 v2, Debian 13 has v3.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
