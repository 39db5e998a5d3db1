// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/table/csv.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/worker/engine/data/signal/signal_files.h"
#include "worker/engine/data/column.h"
#include "worker/engine/data/subset.h"
#include "worker/engine/data/table/csv_dataset.h"

namespace epochd::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Row(const CsvTable& table, int64_t row) {
  std::vector<std::string> cells;
  for (int64_t i = 0; i < table.num_columns(); ++i) {
    cells.emplace_back(table.Cell(row, i));
  }
  return cells;
}

TEST(Csv, ReadsQuotesLineEndsAndEmptyCells) {
  const CsvTable table = CsvTable::Parse(
      "\xEF\xBB\xBF"
      "a,\"b \"\"x\"\"\",c\r\n"
      "1,\"two, or\nmore\",\r\n\n\"\",,3",
      "t.csv");
  EXPECT_THAT(table.names(), ElementsAre("a", "b \"x\"", "c"));
  ASSERT_EQ(table.num_rows(), 2);
  EXPECT_THAT(Row(table, 0), ElementsAre("1", "two, or\nmore", ""));
  EXPECT_THAT(Row(table, 1), ElementsAre("", "", "3"));
  EXPECT_EQ(table.FindColumn("c"), 2);
  EXPECT_EQ(table.FindColumn("1"), 1);
  EXPECT_EQ(table.Number(1, 2), 3);
}

TEST(Csv, ReadsOtherDelimitersAndNoHeader) {
  const CsvTable table = CsvTable::Parse(
      "1\t2\n +3 \t-4e2\n", "t", {.delimiter = '\t', .has_header = false});
  ASSERT_EQ(table.num_rows(), 2);
  EXPECT_EQ(table.Number(1, 0), 3);
  EXPECT_EQ(table.Number(1, 1), -400);
}

TEST(Csv, AColumnThatStandsTwiceIsTakenByItsNumber) {
  const CsvTable table = CsvTable::Parse("a,a,y\n0,1,2\n", "t");
  EXPECT_THAT(ErrorOf([&] { table.FindColumn("a"); }),
              HasSubstr("has two columns \"a\"; the number of one"));
  EXPECT_EQ(table.FindColumn("1"), 1);
  EXPECT_EQ(table.FindColumn("y"), 2);
}

TEST(Csv, ErrorsNameLineAndColumn) {
  const struct {
    const char* text;
    const char* problem;
  } kCases[] = {
      {"a,b\n1\n", "line 2: has 1 columns; 2 are needed"},
      {"a,b\n1,2,3\n", "line 2: has 3 columns"},
      {"a\n\"x\n\n", "line 2: column 1 begins with a quote that is not closed"},
      {"a,b\n\"x\ny\",\"z\"w\n", "line 3: column 2 goes on after its closing"},
  };
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.text);
    EXPECT_THAT(ErrorOf([&] { CsvTable::Parse(each.text, "t.csv"); }),
                HasSubstr(std::string("CSV file \"t.csv\" ") + each.problem));
  }
  const CsvTable table = CsvTable::Parse("a,b\n1,\n\n2,inf\n", "t");
  EXPECT_THAT(ErrorOf([&] { table.Number(0, 1); }),
              HasSubstr("line 2: column 1 (\"b\") is \"\"; a number"));
  EXPECT_THAT(ErrorOf([&] { table.Number(1, 1); }), HasSubstr("line 4"));
  EXPECT_THAT(ErrorOf([&] { table.FindColumn("z"); }),
              HasSubstr("has no column \"z\"; it has 0 to 1, a, b"));
  EXPECT_EQ(CsvTable::Parse("", "t").num_rows(), 0);
}

class CsvDatasetTest : public SignalFiles {
 protected:
  CsvDatasetOptions Options(const std::string& text) {
    return {.file = Write("t.csv", text)};
  }
};

TEST_F(CsvDatasetTest, TakesAllColumnsThatAreNothingElse) {
  CsvDatasetOptions options =
      Options("x,who,y,label,note\n1,ann,2,0,a\n3,bob,4,2,b\n5,ann,6,1,c\n");
  options.targets = {"label"};
  options.group = "who";
  options.ignored = {"note"};
  const auto dataset = LoadCsvDataset(options);
  ASSERT_EQ(dataset->Size(), 3);
  const Batch sample = dataset->Get(1, {});
  EXPECT_TRUE(at::equal(sample.At("input"), at::tensor({3.f, 4.f})));
  EXPECT_EQ(sample.At("target").scalar_type(), at::kLong);
  EXPECT_EQ(sample.At("target").item<int64_t>(), 2);
  EXPECT_EQ(sample.Find("group"), nullptr);
  EXPECT_TRUE(
      at::equal(dataset->Column("group"), at::tensor({0, 1, 0}, at::kLong)));
  const std::vector<int64_t> indices{2, 0};
  EXPECT_TRUE(at::equal(dataset->GetBatch(indices, {}).At("target"),
                        at::tensor({1, 0}, at::kLong)));
}

TEST_F(CsvDatasetTest, TellsOfAHeaderThatLooksLikeData) {
  const auto told = [&](const std::string& text, bool has_header = true) {
    CsvDatasetOptions options = Options(text);
    options.csv.has_header = has_header;
    std::string notices;
    options.notice = [&](const std::string& notice) { notices += notice; };
    LoadCsvDataset(options);
    return notices;
  };
  EXPECT_THAT(told("1,2.5\n3,4\n"), HasSubstr("header: false"));
  EXPECT_EQ(told("1,2.5\n3,4\n", false), "");
  EXPECT_EQ(told("a,2.5\n3,4\n"), "");
  // As tables without names are often written.
  EXPECT_EQ(told("0,1\n3,4\n"), "");
}

TEST_F(CsvDatasetTest, AGroupIsOneInAllFilesThatAreJoined) {
  const auto load = [&](const std::string& file, const std::string& text,
                        const std::string& group = "who") {
    CsvDatasetOptions options{.file = Write(file, text)};
    options.group = group;
    return LoadCsvDataset(options);
  };
  const auto first = load("1.csv", "x,who\n1,ann\n2,bob\n3,cyd\n");
  const auto second = load("2.csv", "x,who\n4,cyd\n5,dan\n6,ann\n");
  EXPECT_TRUE(
      at::equal(second->Column("group"), at::tensor({0, 1, 2}, at::kLong)));
  const auto both = std::make_shared<ConcatDataset>(
      std::vector<std::shared_ptr<const Dataset>>{first, second});
  EXPECT_TRUE(at::equal(both->Column("group"),
                        at::tensor({0, 1, 2, 2, 3, 0}, at::kLong)));
  // Also of a part of one, and joined again.
  const ConcatDataset more(
      {std::make_shared<SubsetDataset>(second, std::vector<int64_t>{2, 1}),
       both});
  EXPECT_TRUE(at::equal(more.Column("group"),
                        at::tensor({0, 1, 0, 2, 3, 3, 1, 0}, at::kLong)));
  // A number in a file is not one of a name.
  const auto plain = std::make_shared<TensorDataset>(
      Batch{{"group", at::arange(2, at::kLong)}});
  EXPECT_TRUE(at::equal(ConcatDataset({plain, plain}).Column("group"),
                        at::tensor({0, 1, 0, 1}, at::kLong)));
  EXPECT_THAT(ErrorOf([&] {
                ConcatDataset({plain, first}).Column("group");
              }),
              HasSubstr("\"group\" numbers names in some of the data sets"));
}

TEST_F(CsvDatasetTest, FurtherFieldsAreNumbersAndNoInput) {
  CsvDatasetOptions options = Options("x,w,t,m1,m2\n1,0.5,0,1,0\n2,2,1,0,1\n");
  options.targets = {"t"};
  options.fields = {{"sample_weight", {"w"}}, {"mask", {"m1", "m2"}}};
  const auto dataset = LoadCsvDataset(options);
  const std::vector<int64_t> all{1, 0};
  const Batch batch = dataset->GetBatch(all, {});
  EXPECT_TRUE(
      at::equal(batch.At("input"), at::tensor({2.f, 1.f}).view({2, 1})));
  EXPECT_TRUE(at::equal(batch.At("sample_weight"), at::tensor({2.f, 0.5f})));
  EXPECT_TRUE(at::equal(batch.At("mask"),
                        at::tensor({0.f, 1.f, 1.f, 0.f}).view({2, 2})));
  EXPECT_TRUE(
      at::equal(dataset->Column("sample_weight"), at::tensor({0.5f, 2.f})));
  options.fields = {{"target", {"w"}}};
  EXPECT_THAT(ErrorOf([&] { LoadCsvDataset(options); }),
              HasSubstr("\"target\" has a parameter of its own"));
  options.fields = {{"w", {}}};
  EXPECT_THAT(ErrorOf([&] { LoadCsvDataset(options); }),
              HasSubstr("\"w\" has no column"));
}

TEST_F(CsvDatasetTest, TargetsAreNumbersNamesOrSeveralColumns) {
  CsvDatasetOptions options = Options("x,y,kind\n1,0.5,cat\n2,1.5,dog\n");
  options.inputs = {"x"};
  options.targets = {"y"};
  auto target = LoadCsvDataset(options)->Column("target");
  EXPECT_TRUE(at::equal(target, at::tensor({0.5f, 1.5f})));
  options.targets = {"kind"};
  options.classes = {"dog", "cat"};
  target = LoadCsvDataset(options)->Column("target");
  EXPECT_TRUE(at::equal(target, at::tensor({1, 0}, at::kLong)));
  options.classes = {"dog"};
  EXPECT_THAT(ErrorOf([&] { LoadCsvDataset(options); }),
              HasSubstr("line 2: column 2 (\"kind\") is \"cat\"; one of dog"));
  options.classes = {};
  options.target_type = TargetType::kClass;
  EXPECT_THAT(ErrorOf([&] { LoadCsvDataset(options); }),
              HasSubstr("a class, a whole number from 0, is needed"));
  options.target_type = TargetType::kNumber;
  options.targets = {"y", "x"};
  EXPECT_EQ(LoadCsvDataset(options)->Column("target").sizes(),
            at::IntArrayRef({2, 2}));
}

TEST_F(CsvDatasetTest, EmptyCellsAreAnErrorOrAValue) {
  CsvDatasetOptions options = Options("x,y\n1,\n");
  EXPECT_THAT(ErrorOf([&] { LoadCsvDataset(options); }),
              HasSubstr("line 2: column 1 (\"y\") is \"\""));
  options.missing = -1;
  EXPECT_EQ(LoadCsvDataset(options)->Get(0, {}).At("input")[1].item<float>(),
            -1);
  Write("t.csv", "x,y\n");
  EXPECT_THAT(ErrorOf([&] { LoadCsvDataset(options); }),
              HasSubstr("has no rows"));
}

TEST_F(CsvDatasetTest, ListsOfClassesInAnotherOrderAreNotAlike) {
  CsvDatasetOptions options = Options("x,y\n1,cat\n2,dog\n");
  options.targets = {"y"};
  options.classes = {"cat", "dog"};
  ClassNumbers numbers;
  EXPECT_EQ(numbers.Add(*LoadCsvDataset(options)), std::nullopt);
  EXPECT_EQ(numbers.Add(*LoadCsvDataset(options)), std::nullopt);
  options.classes = {"dog", "cat"};
  EXPECT_EQ(numbers.Add(*LoadCsvDataset(options)), 1);
}

TEST_F(CsvDatasetTest, ReadsGzip) {
  gzFile file = gzopen(Path("t.csv.gz").c_str(), "wb");
  gzputs(file, "1,2\n3,4\n");
  gzclose(file);
  CsvDatasetOptions options{.file = Path("t.csv.gz")};
  options.csv.has_header = false;
  EXPECT_EQ(LoadCsvDataset(options)->Get(1, {}).At("input")[1].item<float>(),
            4);
}

}  // namespace
}  // namespace epochd::engine
