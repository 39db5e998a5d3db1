// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/wfdb_records.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/engine/data/signal/signal_files.h"
#include "worker/engine/data/subset.h"

namespace epochd::engine {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

std::string Samples16(const std::vector<int>& values) {
  std::string bytes;
  for (int value : values) {
    bytes += static_cast<char>(value & 0xff);
    bytes += static_cast<char>(value >> 8 & 0xff);
  }
  return bytes;
}

std::vector<int64_t> Whole(const at::Tensor& tensor) {
  const at::Tensor values = tensor.to(at::kLong).contiguous();
  return {values.const_data_ptr<int64_t>(),
          values.const_data_ptr<int64_t>() + values.numel()};
}

class WfdbRecordsTest : public SignalFiles {
 protected:
  // A record of `frames` frames at 10 a second with leads I (0, 1, 2, ...) and
  // II (100, 101, ...), gain 1. `place`: its name, with folders.
  void AddRecord(const std::string& place, int frames,
                 const std::string& comments = "") {
    const std::string name = std::filesystem::path(place).filename();
    std::vector<int> values;
    for (int i = 0; i < frames; ++i) {
      values.push_back(i);
      values.push_back(100 + i);
    }
    Write(place + ".dat", Samples16(values));
    Write(place + ".hea", name + " 2 10 " + std::to_string(frames) + "\n" +
                              name + ".dat 16 1/mV 16 0 0 0 0 I\n" + name +
                              ".dat 16 1/mV 16 0 0 0 0 II\n" + comments);
  }
  WfdbRecordsOptions Options() const {
    WfdbRecordsOptions options;
    options.records = folder_.path();
    options.windows.window = 1;
    options.checksums = ChecksumPolicy::kIgnore;
    return options;
  }
};

TEST_F(WfdbRecordsTest, CutsWindowsOfTheLeadsInTheirOrder) {
  AddRecord("a", 35);
  AddRecord("b", 9);
  AddRecord("c", 20);
  WfdbRecordsOptions options = Options();
  options.leads = {"II", "0"};
  const auto dataset = LoadWfdbRecords(options);
  // Three of a, none of b, two of c.
  ASSERT_EQ(dataset->Size(), 5);
  const Batch sample = dataset->Get(2, {});
  ASSERT_EQ(sample.At("input").sizes(), at::IntArrayRef({2, 10}));
  EXPECT_EQ(sample.At("input")[0][0].item<float>(), 120);
  EXPECT_EQ(sample.At("input")[1][9].item<float>(), 29);
  EXPECT_EQ(sample.Find("target"), nullptr);
  EXPECT_THAT(Whole(dataset->Column("group")), ElementsAre(0, 0, 0, 2, 2));
  EXPECT_THAT(Whole(dataset->Column("length")),
              ElementsAre(10, 10, 10, 10, 10));
  EXPECT_FALSE(dataset->Column("target").defined());
}

TEST_F(WfdbRecordsTest, StridesOverlapAndARestIsFilledUp) {
  AddRecord("a", 23);
  WfdbRecordsOptions options = Options();
  options.windows.stride = 0.5;
  options.windows.pad_rest = true;
  options.windows.fill = -1;
  const auto dataset = LoadWfdbRecords(options);
  // 0, 5, 10 and the rest from 15.
  ASSERT_EQ(dataset->Size(), 4);
  EXPECT_EQ(dataset->Get(1, {}).At("input")[0][0].item<float>(), 5);
  EXPECT_THAT(Whole(dataset->Get(3, {}).At("input")[0]),
              ElementsAre(15, 16, 17, 18, 19, 20, 21, 22, -1, -1));
}

TEST_F(WfdbRecordsTest, WholeRecordsHaveTheirLengths) {
  AddRecord("a", 23);
  AddRecord("b", 4);
  WfdbRecordsOptions options = Options();
  options.windows.window = 0;
  options.windows.fs = 5;
  const auto dataset = LoadWfdbRecords(options);
  EXPECT_THAT(Whole(dataset->Column("length")), ElementsAre(12, 2));
  EXPECT_EQ(dataset->Get(0, {}).At("input").size(1), 12);
}

TEST_F(WfdbRecordsTest, AWindowResampledIsAPartOfTheRecordResampled) {
  AddRecord("a", 600);
  for (double fs : {5.0, 20.0, 8.0}) {
    SCOPED_TRACE(fs);
    WfdbRecordsOptions options = Options();
    options.leads = {"I"};
    options.windows = {.window = 10, .fs = fs};
    const auto windows = LoadWfdbRecords(options);
    options.windows.window = 0;
    const at::Tensor whole = LoadWfdbRecords(options)->Get(0, {}).At("input");
    const auto size = static_cast<int64_t>(10 * fs);
    for (int64_t i = 0; i < windows->Size(); ++i) {
      const at::Tensor window = windows->Get(i, {}).At("input");
      ASSERT_EQ(window.size(1), size);
      EXPECT_TRUE(at::allclose(window, whole.slice(1, i * size, (i + 1) * size),
                               1e-6, 1e-3));
    }
  }
}

TEST_F(WfdbRecordsTest, LabelsFromComments) {
  AddRecord("a", 10, "# Dx: 426783006\n# Patient: p7\n");
  AddRecord("b", 20, "# Dx: 164889003, 59118001\n# Patient: p2\n");
  AddRecord("c", 10, "# Dx: 426783006\n# Patient: p7\n");
  WfdbRecordsOptions options = Options();
  options.labels = LabelSource::kComment;
  options.group = LabelSource::kComment;
  options.classes = {.names = {"59118001", "164889003", "426783006"},
                     .is_multi = true};
  const auto dataset = LoadWfdbRecords(options);
  EXPECT_THAT(Whole(dataset->Column("target")),
              ElementsAre(0, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1));
  EXPECT_EQ(dataset->Get(1, {}).At("target").scalar_type(), at::kFloat);
  EXPECT_THAT(Whole(dataset->Column("group")), ElementsAre(0, 1, 1, 0));

  options.classes.is_multi = false;
  EXPECT_THAT(ErrorOf([&] { LoadWfdbRecords(options); }),
              HasSubstr("one is needed, or `multi_label: true`"));
  options.classes.names = {"426783006"};
  EXPECT_THAT(ErrorOf([&] { LoadWfdbRecords(options); }),
              HasSubstr("label \"164889003\" is no class; \"426783006\""));
  options.classes.skip_unknown = true;
  EXPECT_THAT(Whole(LoadWfdbRecords(options)->Column("target")),
              ElementsAre(0, 0));
}

TEST_F(WfdbRecordsTest, APatientIsOneInAllFoldersThatAreJoined) {
  AddRecord("a", 10, "# Patient: p7\n");
  AddRecord("b", 20, "# Patient: p8\n");
  WfdbRecordsOptions options = Options();
  options.group = LabelSource::kComment;
  const auto first = LoadWfdbRecords(options);
  const auto by_record = LoadWfdbRecords(Options());
  AddRecord("a", 10, "# Patient: p8\n");
  AddRecord("b", 10, "# Patient: p7\n");
  const auto second = LoadWfdbRecords(options);
  EXPECT_THAT(Whole(second->Column("group")), ElementsAre(0, 1));
  EXPECT_THAT(Whole(ConcatDataset({first, second}).Column("group")),
              ElementsAre(0, 1, 1, 1, 0));
  // One recording, read twice.
  EXPECT_THAT(Whole(ConcatDataset({by_record, by_record}).Column("group")),
              ElementsAre(0, 1, 1, 0, 1, 1));
}

std::string Annotation(int code, int interval, const std::string& aux) {
  std::string bytes = Samples16({code << 10 | interval});
  if (!aux.empty()) {
    bytes += Samples16({63 << 10 | static_cast<int>(aux.size())}) + aux;
    if (aux.size() % 2 == 1) bytes += '\0';
  }
  return bytes;
}

TEST_F(WfdbRecordsTest, LabelsFromRhythms) {
  AddRecord("a", 40);
  // AFIB from 1.4 s, N from 2.6 s.
  Write("a.atr", Annotation(28, 14, "(AFIB") + Annotation(1, 3, "") +
                     Annotation(28, 9, "(N") + Samples16({0}));
  WfdbRecordsOptions options = Options();
  options.labels = LabelSource::kAnnotation;
  options.classes = {.names = {"N", "(AFIB"}, .skip_unknown = true};
  const auto dataset = LoadWfdbRecords(options);
  // The first second has no rhythm; in the second and third AFIB has more.
  EXPECT_THAT(Whole(dataset->Column("target")), ElementsAre(1, 1, 0));
  EXPECT_EQ(dataset->Get(0, {}).At("input")[0][0].item<float>(), 10);
  options.classes.is_multi = true;
  EXPECT_THAT(Whole(LoadWfdbRecords(options)->Column("target")),
              ElementsAre(0, 0, 0, 1, 1, 1, 1, 0));
  options.classes = {.names = {"N", "AFIB"}};
  EXPECT_THAT(ErrorOf([&] { LoadWfdbRecords(options); }),
              HasSubstr("frames [0, 10): has no label"));
}

TEST_F(WfdbRecordsTest, ABeatHasAWindowAboutIt) {
  AddRecord("a", 40);
  AddRecord("b", 20);
  // N at 2, V at 14, a rhythm at 20, N at 27 and at 38.
  Write("a.atr", Annotation(1, 2, "") + Annotation(5, 12, "") +
                     Annotation(28, 6, "(AFIB") + Annotation(1, 7, "") +
                     Annotation(1, 11, "") + Samples16({0}));
  Write("b.atr", Annotation(1, 5, "") + Samples16({0}));
  WfdbRecordsOptions options = Options();
  options.labels = LabelSource::kBeat;
  options.classes = {.names = {"V", "N"}};
  const auto dataset = LoadWfdbRecords(options);
  // The first and the last N of `a` are too near to its ends.
  EXPECT_THAT(Whole(dataset->Column("target")), ElementsAre(0, 1, 1));
  EXPECT_THAT(Whole(dataset->Column("group")), ElementsAre(0, 0, 1));
  EXPECT_EQ(dataset->Get(0, {}).At("input")[0][5].item<float>(), 14);
  EXPECT_EQ(dataset->Get(1, {}).At("input")[0][5].item<float>(), 27);
  ASSERT_EQ(dataset->Get(2, {}).At("input").sizes(), at::IntArrayRef({2, 10}));
  EXPECT_EQ(dataset->Get(2, {}).At("input")[0][0].item<float>(), 0);
  options.windows.fs = 20;
  EXPECT_EQ(LoadWfdbRecords(options)->Get(1, {}).At("input").size(1), 20);
}

TEST_F(WfdbRecordsTest, LabelsAndGroupsFromACsvFile) {
  AddRecord("a", 10);
  AddRecord("b", 10);
  WfdbRecordsOptions options = Options();
  options.labels = LabelSource::kCsv;
  options.group = LabelSource::kCsv;
  options.label_file =
      Write("labels.csv", "record,label,patient\nb,AF,x\na,SR,x\n");
  options.classes.names = {"SR", "AF"};
  const auto dataset = LoadWfdbRecords(options);
  EXPECT_THAT(Whole(dataset->Column("target")), ElementsAre(0, 1));
  EXPECT_THAT(Whole(dataset->Column("group")), ElementsAre(0, 0));
  Write("labels.csv", "record,label,patient\nb,AF,x\n");
  EXPECT_THAT(ErrorOf([&] { LoadWfdbRecords(options); }),
              HasSubstr("a.hea\": is not in \""));
}

TEST_F(WfdbRecordsTest, ListsRecordsOfFoldersListsAndHeaders) {
  AddRecord("b", 10);
  AddRecord("a", 10);
  Write("whole.hea", "whole/1 2 10 10\na 10\n");
  EXPECT_THAT(ListWfdbRecords(folder_.path()),
              ElementsAre(EndsWith("/b"), EndsWith("/whole")));
  EXPECT_THAT(ListWfdbRecords(Path("a.hea")), ElementsAre(EndsWith("/a")));
  Write("RECORDS", "b\r\n\na\n");
  EXPECT_THAT(ListWfdbRecords(folder_.path()),
              ElementsAre(EndsWith("/b"), EndsWith("/a")));
  EXPECT_THAT(ErrorOf([&] { ListWfdbRecords(Path("none")); }),
              HasSubstr("is not there"));
  Write("RECORDS", "\n");
  EXPECT_THAT(ErrorOf([&] { ListWfdbRecords(folder_.path()); }),
              HasSubstr("lists no record"));
}

TEST_F(WfdbRecordsTest, AFolderWithoutHeadersIsLookedThroughInOrder) {
  AddRecord("b/g2/B1", 10);
  AddRecord("a/g1/A2", 10);
  AddRecord("a/g1/A1", 10);
  AddRecord("c", 10);
  // Headers of its own are all that a folder gives.
  EXPECT_THAT(ListWfdbRecords(folder_.path()), ElementsAre(EndsWith("/c")));
  std::filesystem::remove(Path("c.hea"));
  Write("a/none/notes.txt", "");
  EXPECT_THAT(ListWfdbRecords(folder_.path()),
              ElementsAre(EndsWith("/a/g1/A1"), EndsWith("/a/g1/A2"),
                          EndsWith("/b/g2/B1")));
  Write("a/g1/RECORDS", "A2\n");
  EXPECT_THAT(ListWfdbRecords(folder_.path()),
              ElementsAre(EndsWith("/a/g1/A2"), EndsWith("/b/g2/B1")));
  EXPECT_THAT(ErrorOf([&] { ListWfdbRecords(Path("a/none")); }),
              HasSubstr("a/none\": holds no header"));
}

TEST_F(WfdbRecordsTest, AListNamesFoldersByASlashAtTheEnd) {
  AddRecord("b/B1", 10);
  AddRecord("a/A1", 10);
  AddRecord("a/A2", 10);
  AddRecord("deep/x/D1", 10);
  AddRecord("c", 10);
  Write("a/RECORDS", "A2\n");
  Write("RECORDS", "b/\r\nc\na/\ndeep/\n");
  const auto listed = ElementsAre(EndsWith("/b/B1"), EndsWith("/c"),
                                  EndsWith("/a/A2"), EndsWith("/deep/x/D1"));
  EXPECT_THAT(ListWfdbRecords(folder_.path()), listed);
  EXPECT_THAT(ListWfdbRecords(Path("RECORDS")), listed);
  Write("RECORDS", "a/\nnone/\n");
  EXPECT_THAT(ErrorOf([&] { ListWfdbRecords(folder_.path()); }),
              HasSubstr("none/\": cannot be read"));
}

TEST_F(WfdbRecordsTest, FoldersThatLeadBackToThemselvesAreLookedAtOnce) {
  AddRecord("a/A1", 10);
  std::filesystem::create_directories(Path("b"));
  std::filesystem::create_directory_symlink(folder_.path(), Path("b/up"));
  std::filesystem::create_directory_symlink(Path("a"), Path("b/side"));
  EXPECT_THAT(ListWfdbRecords(folder_.path()), ElementsAre(EndsWith("/a/A1")));
  EXPECT_THAT(ListWfdbRecords(Path("b")), ElementsAre(EndsWith("/side/A1")));
  Write("a/RECORDS", "./\n../b/\nA1\n");
  EXPECT_THAT(ListWfdbRecords(Path("a")), ElementsAre(EndsWith("/a/A1")));
  Write("a/RECORDS", "./\n");
  EXPECT_THAT(ErrorOf([&] { ListWfdbRecords(Path("a")); }),
              HasSubstr("holds no header"));
}

TEST_F(WfdbRecordsTest, ACsvFileNamesRecordsOfOneNameByTheirFolders) {
  AddRecord("p1/s", 10);
  AddRecord("p2/s", 10);
  WfdbRecordsOptions options = Options();
  options.labels = LabelSource::kCsv;
  options.classes.names = {"SR", "AF"};
  options.label_file = Write("l.csv", "record,label\np2/s,AF\np1/s,SR\n");
  EXPECT_THAT(Whole(LoadWfdbRecords(options)->Column("target")),
              ElementsAre(0, 1));
  Write("l.csv", "record,label\ns,AF\n");
  EXPECT_THAT(ErrorOf([&] { LoadWfdbRecords(options); }),
              HasSubstr("s.hea\" is called, too; \"p2/s\" names this one"));
}

TEST_F(WfdbRecordsTest, UnitsThatDifferBetweenRecordsAreToldOnce) {
  AddRecord("a", 20);
  AddRecord("b", 20);
  AddRecord("c", 20);
  std::vector<std::string> told;
  WfdbRecordsOptions options = Options();
  options.notice = [&told](const std::string& text) { told.push_back(text); };
  const auto write_units = [this](const std::string& first,
                                  const std::string& second) {
    for (const auto& [name, units] : {std::pair("b", first), {"c", second}}) {
      const std::string file = std::string(name) + ".dat 16 1/";
      Write(std::string(name) + ".hea", std::string(name) + " 2 10 20\n" +
                                            file + units + " 16 0 0 0 0 I\n" +
                                            file + "mV 16 0 0 0 0 II\n");
    }
  };
  LoadWfdbRecords(options);
  EXPECT_THAT(told, ElementsAre());
  write_units("uV", "V");
  LoadWfdbRecords(options);
  ASSERT_EQ(told.size(), 1);
  EXPECT_THAT(told[0], HasSubstr("lead \"I\" is in \"mV\" in \""));
  EXPECT_THAT(told[0], HasSubstr("a.hea\" and in \"uV\" in \""));
  EXPECT_THAT(told[0], HasSubstr("b.hea\"; values are taken as they are"));
  // What is not read, and records of which nothing is.
  options.leads = {"II"};
  LoadWfdbRecords(options);
  EXPECT_EQ(told.size(), 1);
  options.leads = {"I"};
  options.windows.window = 3;
  AddRecord("a", 30);
  LoadWfdbRecords(options);
  EXPECT_EQ(told.size(), 1);
  // One unit, written in four ways.
  options.windows.window = 1;
  options.records = Write("list", "b\nc\n");
  for (const char* micro : {"\xc2\xb5V", "\xce\xbcV", "\xb5V"}) {
    write_units("uV", micro);
    LoadWfdbRecords(options);
    EXPECT_EQ(told.size(), 1) << micro;
  }
  write_units("mV", "MV");
  LoadWfdbRecords(options);
  EXPECT_EQ(told.size(), 2);
}

TEST_F(WfdbRecordsTest, ALeadThatStandsTwiceIsNamedByNumber) {
  AddRecord("a", 10);
  const std::string line = "a.dat 16 1/mV 16 0 0 0 0 ECG\n";
  Write("a.hea", "a 2 10 10\n" + line + line);
  WfdbRecordsOptions options = Options();
  options.leads = {"ECG"};
  const std::string error = ErrorOf([&] { LoadWfdbRecords(options); });
  EXPECT_THAT(error, HasSubstr("a.hea\": lead \"ECG\" stands more than once; "
                               "name it by number: 0 or 1"));
  options.leads = {"1"};
  EXPECT_EQ(
      LoadWfdbRecords(options)->Get(0, {}).At("input")[0][0].item<float>(),
      100);
}

TEST_F(WfdbRecordsTest, MissingLeadsAreAnErrorOrZeros) {
  AddRecord("a", 10);
  WfdbRecordsOptions options = Options();
  options.leads = {"V1", "I"};
  EXPECT_THAT(ErrorOf([&] { LoadWfdbRecords(options); }),
              HasSubstr("has no lead \"V1\"; it has I, II"));
  options.zero_missing_leads = true;
  const at::Tensor input = LoadWfdbRecords(options)->Get(0, {}).At("input");
  EXPECT_TRUE(at::equal(input[0], at::zeros({10})));
  EXPECT_EQ(input[1][9].item<float>(), 9);
}

TEST_F(WfdbRecordsTest, RatesMustAgreeOrBeAskedFor) {
  AddRecord("a", 20);
  AddRecord("b", 20);
  std::string header = "b 2 20 20\nb.dat 16 1 16 0 0 0 0 I\n";
  Write("b.hea", header + "b.dat 16 1 16 0 0 0 0 II\n");
  WfdbRecordsOptions options = Options();
  EXPECT_THAT(ErrorOf([&] { LoadWfdbRecords(options); }),
              HasSubstr("`fs` brings them to one rate"));
  options.windows.fs = 20;
  const auto dataset = LoadWfdbRecords(options);
  ASSERT_EQ(dataset->Size(), 3);
  EXPECT_EQ(dataset->Get(0, {}).At("input").size(1), 20);
  EXPECT_EQ(dataset->Get(2, {}).At("input").size(1), 20);
}

TEST_F(WfdbRecordsTest, AnUnreadableSampleNamesIndexAndFile) {
  AddRecord("a", 30);
  const auto dataset = LoadWfdbRecords(Options());
  std::filesystem::resize_file(Path("a.dat"), 50);
  EXPECT_EQ(dataset->Get(0, {}).At("input")[0][1].item<float>(), 1);
  const std::string error = ErrorOf([&] { dataset->Get(1, {}); });
  EXPECT_THAT(error, HasSubstr("sample 1 (frames [10, 20) of"));
  EXPECT_THAT(error, HasSubstr("a.dat\": byte 50: ends"));
}

TEST_F(WfdbRecordsTest, RecordsThatCannotBeOpenedAreLeftOutAndTold) {
  AddRecord("a", 20);
  AddRecord("b", 20);
  AddRecord("c", 20);
  AddRecord("d", 20);
  Write("b.hea", "b 2 ten\n");
  std::filesystem::remove(Path("c.dat"));
  const auto dataset = LoadWfdbRecords(Options());
  EXPECT_THAT(Whole(dataset->Column("group")), ElementsAre(0, 0, 1, 1));
  const std::vector<Error> unreadable = dataset->Unreadable();
  ASSERT_EQ(unreadable.size(), 2);
  EXPECT_THAT(unreadable[0].what(), HasSubstr("b.hea"));
  EXPECT_THAT(unreadable[1].what(), HasSubstr("c.dat"));
  // With `verify` also those whose samples are not what their sums say.
  WfdbRecordsOptions options = Options();
  options.checksums = ChecksumPolicy::kError;
  options.verify = true;
  Write("RECORDS", "a\nd\n");
  Write("d.hea",
        "d 2 10 20\nd.dat 16 1/mV 16 0 0 190 0 I\nd.dat 16 1/mV 16 0 0 2190 0 "
        "II\n");
  const auto verified = LoadWfdbRecords(options);
  EXPECT_EQ(verified->Size(), 2);
  ASSERT_EQ(verified->Unreadable().size(), 1);
  EXPECT_THAT(verified->Unreadable()[0].what(), HasSubstr("a.dat"));
  // Nothing is left: what is wrong with the first one.
  options.records = Path("b.hea");
  EXPECT_THAT(ErrorOf([&] { LoadWfdbRecords(options); }), HasSubstr("b.hea"));
}

TEST(ChooseLeads, ANumberThatIsAnotherLeadsNameIsNotProposed) {
  EXPECT_THAT(
      ErrorOf([] {
        ChooseLeads({"x", "0", "x"}, {"x"}, true, "file");
      }),
      HasSubstr("file: lead \"x\" stands more than once; name it by number: "
                "2"));
  EXPECT_THAT(ErrorOf([] {
                ChooseLeads({"1", "1"}, {"1"}, false, "file");
              }),
              EndsWith("name it by number: 0"));
  EXPECT_THAT(ErrorOf([] {
                ChooseLeads({"1", "1", "0"}, {"1"}, false, "file");
              }),
              EndsWith("its signals need other labels"));
  EXPECT_THAT(ChooseLeads({"x", "y", "x"}, {"y", "2"}, false, "file"),
              ElementsAre(1, 2));
}

// One lead with a value per frame, 10 frames a second.
class OneLead : public Recording {
 public:
  explicit OneLead(at::Tensor values) : values_(std::move(values)) {}
  const std::string& path() const override { return path_; }
  double fs() const override { return 10; }
  int64_t num_frames() const override { return values_.numel(); }
  at::Tensor Read(int64_t from, int64_t to) const override {
    return values_.slice(0, from, to).clone().view({1, to - from});
  }

 private:
  const at::Tensor values_;
  const std::string path_ = "values";
};

TEST(RecordWindows, AWindowNearTheBeginningSeesAllSamplesBeforeIt) {
  const at::Tensor wave = at::sin(at::arange(400, at::kFloat) / 7) + 2;
  for (double fs : {5.0, 7.0, 15.0}) {
    const int64_t down = ResampleRatio(10, fs).down;
    for (int64_t from = 0; from < 2 * down + 60; ++from) {
      SCOPED_TRACE(std::to_string(fs) + " from " + std::to_string(from));
      // The same with the first value as often before it as makes `from` a
      // multiple of `down`: what a resampled record takes to be before it.
      const int64_t shift = (down - from % down) % down;
      const at::Tensor longer =
          at::cat({wave.slice(0, 0, 1).expand({shift}), wave});
      const auto window = [&](const at::Tensor& values, int64_t begin) {
        RecordWindows::Parts parts;
        parts.recordings = {std::make_shared<OneLead>(values)};
        parts.windows = {{.recording = 0, .from = begin, .frames = 100}};
        const RecordWindows windows(std::move(parts), {.window = 10, .fs = fs});
        return windows.Get(0, {}).At("input");
      };
      EXPECT_TRUE(at::allclose(window(wave, from), window(longer, from + shift),
                               1e-6, 1e-6));
      // What is before the window matters, up to the record's beginning.
      if (from == 1) {
        at::Tensor other = wave.clone();
        other[0] = 5;
        EXPECT_FALSE(at::allclose(window(wave, 1), window(other, 1), 0, 1e-3));
      }
    }
  }
}

TEST(CutWindows, RefusesWindowsWithoutASample) {
  EXPECT_THAT(ErrorOf([] { CutWindows(0, 100, 10, {.window = 0.01}); }),
              HasSubstr("a window of 0.010000 s at 10.000000"));
  EXPECT_THAT(
      ErrorOf([] { CutWindows(0, 100, 10, {.window = 1, .stride = 0.001}); }),
      HasSubstr("a stride of"));
  EXPECT_TRUE(CutWindows(0, 0, 10, {}).empty());
  EXPECT_EQ(CutWindows(0, 7, 10, {.window = 1, .pad_rest = true}).size(), 1);
}

}  // namespace
}  // namespace epochd::engine
