// SPDX-License-Identifier: Apache-2.0
#include "client/terminal/human.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace epochd::terminal {
namespace {

TEST(Human, WritesDurationsWithTwoUnits) {
  EXPECT_EQ(HumanDuration(absl::Milliseconds(850)), "850ms");
  EXPECT_EQ(HumanDuration(absl::Seconds(12)), "12s");
  EXPECT_EQ(HumanDuration(absl::Seconds(192)), "3m12s");
  EXPECT_EQ(HumanDuration(absl::Minutes(125)), "2h05m");
  EXPECT_EQ(HumanDuration(absl::Hours(99)), "4d03h");
  EXPECT_EQ(HumanDuration(-absl::Seconds(1)), "-");
  EXPECT_EQ(HumanDuration(absl::InfiniteDuration()), "-");
}

TEST(Human, WritesSizesInBinaryUnits) {
  EXPECT_EQ(HumanBytes(0), "0B");
  EXPECT_EQ(HumanBytes(1536), "1.5KiB");
  EXPECT_EQ(HumanBytes(64 << 20), "64MiB");
  EXPECT_EQ(HumanBytes(int64_t{5} << 50), "5120TiB");
}

TEST(Human, WritesNumbersWithFourDigits) {
  EXPECT_EQ(HumanNumber(0), "0");
  EXPECT_EQ(HumanNumber(0.975), "0.9750");
  EXPECT_EQ(HumanNumber(1.2344e-5), "1.234e-05");
  EXPECT_EQ(HumanNumber(12.345), "12.35");
  EXPECT_EQ(HumanNumber(-345.67), "-345.7");
  EXPECT_EQ(HumanNumber(1234567), "1234567");
  EXPECT_EQ(HumanNumber(std::nan("")), "nan");
  EXPECT_EQ(HumanNumber(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Human, WritesCountsWithUnits) {
  EXPECT_EQ(HumanCount(950), "950");
  EXPECT_EQ(HumanCount(12345), "12.3k");
  EXPECT_EQ(HumanCount(4.567e6), "4.57M");
  EXPECT_EQ(HumanCount(0), "0");
  EXPECT_EQ(HumanCount(std::nan("")), "nan");
}

TEST(Human, StaysShortWhateverTheSize) {
  for (double power = 1; power < 1e13; power *= 10) {
    for (const double factor : {0.9, 0.99, 0.999, 0.9994, 0.9995, 0.9999,
                                0.999999, 1.0, 1.0001, 5.0}) {
      const double value = power * factor;
      const std::string count = HumanCount(value);
      EXPECT_LE(count.size(), 5u) << value << ": " << count;
      EXPECT_EQ(count.find('e'), std::string::npos) << value << ": " << count;
      EXPECT_LE(HumanBytes(static_cast<int64_t>(value)).size(), 8u) << value;
      EXPECT_LE(HumanDuration(absl::Milliseconds(value)).size(), 10u) << value;
      for (const double number : {value, -value, 1 / value}) {
        EXPECT_LE(HumanNumber(number).size(), 10u) << number;
        EXPECT_NEAR(std::stod(HumanNumber(number)) / number, 1, 0.06);
      }
    }
  }
}

TEST(Human, RoundsUpIntoTheNextUnit) {
  EXPECT_EQ(HumanCount(999.4), "999");
  EXPECT_EQ(HumanCount(999.5), "1k");
  EXPECT_EQ(HumanCount(999499), "999k");
  EXPECT_EQ(HumanCount(999999), "1M");
  EXPECT_EQ(HumanCount(999999999), "1G");
  EXPECT_EQ(HumanCount(5e12), "5000G");
  EXPECT_EQ(HumanCount(-1e300), "-1.000e+300");
  EXPECT_EQ(HumanBytes(1023), "1023B");
  EXPECT_EQ(HumanBytes((1 << 20) - 1), "1.0MiB");
  EXPECT_EQ(HumanBytes((int64_t{1} << 30) - 1), "1.0GiB");
  EXPECT_EQ(HumanBytes(-2048), "-2KiB");
  EXPECT_EQ(HumanDuration(absl::Milliseconds(999)), "999ms");
  EXPECT_EQ(HumanDuration(absl::Seconds(59.9)), "59s");
  EXPECT_EQ(HumanDuration(absl::Seconds(3599.9)), "59m59s");
  EXPECT_EQ(HumanDuration(absl::Seconds(86399)), "23h59m");
  EXPECT_EQ(HumanDuration(absl::ZeroDuration()), "0ms");
}

}  // namespace
}  // namespace epochd::terminal
