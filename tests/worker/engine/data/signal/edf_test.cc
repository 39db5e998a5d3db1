// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/edf.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/worker/engine/data/signal/signal_files.h"
#include "worker/engine/data/signal/edf_records.h"

namespace epochd::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Edf, ReadsWhatPyedflibReads) {
  const auto recorded = RecordedJson("edf.json");
  for (const auto& [name, expected] : recorded.items()) {
    SCOPED_TRACE(name);
    const EdfFile file(Recorded(name));
    const auto& signals = expected.at("signals");
    ASSERT_EQ(file.signals().size(), signals.size());
    for (size_t i = 0; i < signals.size(); ++i) {
      const auto& told = signals[i];
      const int signal = static_cast<int>(i);
      EXPECT_EQ(file.signals()[i].label, told.at("label").get<std::string>());
      EXPECT_EQ(file.signals()[i].units, told.at("units").get<std::string>());
      EXPECT_EQ(file.fs(signal), told.at("fs").get<double>());
      const auto size = static_cast<int64_t>(told.at("digital").size());
      ASSERT_EQ(file.num_samples(signal), size);
      const at::Tensor digital = file.Digital(signal, 0, size);
      const at::Tensor physical = file.Physical(signal, 0, size);
      for (int64_t k = 0; k < size; ++k) {
        EXPECT_EQ(digital.const_data_ptr<int32_t>()[k],
                  told.at("digital")[k].get<int32_t>());
        EXPECT_FLOAT_EQ(physical.const_data_ptr<float>()[k],
                        told.at("physical")[k].get<float>());
      }
      for (int64_t from = 0; from < size; from += 7) {
        EXPECT_TRUE(at::equal(file.Digital(signal, from, size),
                              digital.slice(0, from)));
      }
    }
    std::vector<EdfAnnotation> annotations;
    for (const auto& each : expected.at("annotations")) {
      annotations.push_back({each[0], each[1], each[2]});
    }
    EXPECT_EQ(file.Annotations(), annotations);
  }
}

class EdfFiles : public SignalFiles {
 protected:
  // The recorded plus.edf with `bytes` at `place`.
  std::string Changed(size_t place, const std::string& bytes) {
    std::string all = Bytes(Recorded("plus.edf"));
    all.replace(place, bytes.size(), bytes);
    return Write("changed.edf", all);
  }
};

TEST_F(EdfFiles, RefusesNamingFileByteAndField) {
  const struct {
    size_t place;
    const char* bytes;
    const char* problem;
  } kCases[] = {
      {0, "1       ", "byte 0: does not begin with version 0 or BIOSEMI"},
      {184, "123     ", "byte 184: the header's size is 123"},
      {184, "768     ",
       "byte 184: the header's size is 768; 1024 is needed for 3 signals"},
      {192, "EDF+D", "byte 192: is an interrupted recording (EDF+D)"},
      {236, "99      ", ": ends after 4 data records; its header tells of 99"},
      {236, "x       ", "byte 236: the number of data records is \"x\""},
      {244, "0       ", "byte 244: the duration of a data record"},
      {252, "0   ", "byte 252: the number of signals"},
      {252, "9999", "byte 252: the number of signals"},
      {256 + 3 * 104, "nan     ", "byte 568: a physical minimum is \"nan\""},
      {256 + 3 * 128, "5       ",
       "byte 616: signal \"I\" has no range of digital"},
      {256 + 3 * 216, "0       ", "byte 904: the samples of a data record"},
      {256 + 3 * 216, "99999999", "byte 1680: ends after 0 data records"},
  };
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.problem);
    const std::string path = Changed(each.place, each.bytes);
    // A range needs both ends to be the same.
    if (std::string(each.problem).starts_with("byte 616")) {
      std::string all = Bytes(path);
      all.replace(256 + 3 * 120, 8, "5       ");
      Write("changed.edf", all);
    }
    const std::string error = ErrorOf([&] { EdfFile file(path); });
    EXPECT_THAT(error, HasSubstr("changed.edf"));
    EXPECT_THAT(error, HasSubstr(each.problem));
  }
}

TEST_F(EdfFiles, EveryTruncationIsRefused) {
  const std::string all = Bytes(Recorded("plus.edf"));
  for (size_t size = 0; size < all.size(); ++size) {
    const std::string path = Write("short.edf", all.substr(0, size));
    EXPECT_THAT(ErrorOf([&] { EdfFile file(path); }),
                HasSubstr("short.edf\": byte " + std::to_string(size) + ": "))
        << size;
  }
}

TEST_F(EdfFiles, AnUntoldLengthFollowsFromTheFile) {
  EXPECT_EQ(EdfFile(Changed(236, "-1      ")).num_samples(0), 80);
}

TEST_F(EdfFiles, BrokenAnnotationsNameTheByte) {
  const EdfFile whole(Recorded("plus.edf"));
  std::string all = Bytes(Recorded("plus.edf"));
  const size_t place = all.find("+1.25");
  ASSERT_NE(place, std::string::npos);
  all[place + 1] = 'x';
  const EdfFile broken(Write("broken.edf", all));
  EXPECT_THAT(ErrorOf([&] { broken.Annotations(); }),
              HasSubstr("broken.edf\": byte " + std::to_string(place) +
                        ": an annotation's time is \"+x.25"));
}

TEST_F(EdfFiles, WindowsBeyondTheEndAreRefused) {
  const EdfFile file(Recorded("plain.edf"));
  EXPECT_THAT(ErrorOf([&] { file.Digital(0, 79, 81); }),
              HasSubstr("samples [79, 81) of signal 0"));
  EXPECT_THAT(ErrorOf([&] { file.Physical(2, 0, 1); }),
              HasSubstr("it has 2 signals"));
}

TEST_F(EdfFiles, AreADataSetOfWindows) {
  Write("a.edf", Bytes(Recorded("plain.edf")));
  Write("b.bdf", Bytes(Recorded("plus.bdf")));
  RecordOptions options{.records = folder_.path(), .leads = {"I"}};
  options.windows.window = 2;
  options.labels = LabelSource::kCsv;
  options.group = LabelSource::kCsv;
  options.label_file = Write("l.csv", "record,label,who\na,x,1\nb,y,1\n");
  options.classes.names = {"y", "x"};
  options.group_column = "who";
  const auto dataset = LoadEdfRecords(options);
  ASSERT_EQ(dataset->Size(), 4);
  EXPECT_EQ(dataset->Get(3, {}).At("target").item<int64_t>(), 0);
  EXPECT_TRUE(at::equal(dataset->Get(1, {}).At("input")[0],
                        EdfFile(Path("a.edf")).Physical(0, 40, 80)));
  EXPECT_EQ(dataset->Column("group").sum().item<int64_t>(), 0);
  options.leads = {};
  EXPECT_THAT(ErrorOf([&] { LoadEdfRecords(options); }),
              HasSubstr("`leads` of one rate are needed"));
  options.leads = {"II"};
  EXPECT_THAT(ErrorOf([&] { LoadEdfRecords(options); }),
              HasSubstr("has no lead \"II\"; it has I, Resp"));
}

TEST_F(EdfFiles, AFolderWithoutRecordingsIsLookedThroughInOrder) {
  const std::string plain = Bytes(Recorded("plain.edf"));
  Write("p2/night.edf", plain);
  Write("p1/x/night.EDF", plain);
  Write("p1/x/notes.txt", "");
  std::filesystem::create_directory_symlink(folder_.path(), Path("p1/up"));
  RecordOptions options{.records = folder_.path(), .leads = {"I"}};
  options.labels = LabelSource::kCsv;
  options.label_file =
      Write("l.csv", "record,label\np2/night,a\np1/x/night,b\n");
  options.classes.names = {"a", "b"};
  const auto dataset = LoadEdfRecords(options);
  ASSERT_EQ(dataset->Size(), 2);
  EXPECT_EQ(dataset->Get(0, {}).At("target").item<int64_t>(), 1);
  EXPECT_EQ(dataset->Get(1, {}).At("target").item<int64_t>(), 0);
  options.labels = LabelSource::kNone;
  Write("own.edf", plain);
  EXPECT_EQ(LoadEdfRecords(options)->Size(), 1);
  options.records = Path("p1/x");
  std::filesystem::remove(Path("p1/x/night.EDF"));
  EXPECT_THAT(ErrorOf([&] { LoadEdfRecords(options); }),
              HasSubstr("p1/x\": holds no .edf or .bdf file"));
}

TEST_F(EdfFiles, ALabelThatStandsTwiceIsNamedByNumber) {
  // plus.edf's second label, of 16 bytes.
  const std::string path = Changed(256 + 16, "I               ");
  RecordOptions options{.records = path, .leads = {"I"}};
  EXPECT_THAT(ErrorOf([&] { LoadEdfRecords(options); }),
              HasSubstr("changed.edf\": lead \"I\" stands more than once; "
                        "name it by number: 0 or 1"));
  options.leads = {"1"};
  EXPECT_TRUE(at::equal(LoadEdfRecords(options)->Get(0, {}).At("input")[0],
                        EdfFile(path).Physical(1, 0, 20)));
}

TEST_F(EdfFiles, UnitsThatDifferBetweenFilesAreTold) {
  Write("a.edf", Bytes(Recorded("plus.edf")));
  // The unit of the first signal, behind labels and transducers of three.
  Changed(256 + 3 * 96, "uV      ");
  std::vector<std::string> told;
  RecordOptions options{.records = folder_.path(), .leads = {"I"}};
  options.notice = [&told](const std::string& text) { told.push_back(text); };
  LoadEdfRecords(options);
  ASSERT_EQ(told.size(), 1);
  EXPECT_THAT(told[0], HasSubstr("lead \"I\" is in \"mV\" in \""));
  EXPECT_THAT(told[0], HasSubstr("a.edf\" and in \"uV\" in \""));
  EXPECT_THAT(told[0], HasSubstr("changed.edf\""));
}

TEST_F(EdfFiles, AnnotationsLabelTheWindowsThatTheyCover) {
  RecordOptions options{.records = Recorded("stages.edf"),
                        .labels = LabelSource::kAnnotation};
  options.classes.names = {"Sleep stage W", "Sleep stage 1", "Sleep stage 2"};
  const auto of_target = [&] {
    const at::Tensor target = LoadEdfRecords(options)->Column("target");
    return std::vector<int64_t>(
        target.const_data_ptr<int64_t>(),
        target.const_data_ptr<int64_t>() + target.numel());
  };
  options.windows.window = 1;
  EXPECT_THAT(of_target(), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 0));
  options.windows.window = 3;
  EXPECT_THAT(of_target(), ElementsAre(0, 1, 1, 2));
  // Texts that are no class say nothing.
  options.classes.names = {"Arousal"};
  EXPECT_THAT(ErrorOf([&] { LoadEdfRecords(options); }),
              HasSubstr("stages.edf\", frames [0, 30): has no label"));
  options.classes.skip_unknown = true;
  // Half a second of the window before says nothing of it.
  EXPECT_EQ(LoadEdfRecords(options)->Size(), 2);
  options.classes = {.names = {"Sleep stage W", "Arousal", "Lights off"},
                     .is_multi = true};
  options.windows.window = 6;
  // A tenth of a window is needed, and the lights go off when the night begins.
  const at::Tensor target = LoadEdfRecords(options)->Column("target");
  EXPECT_TRUE(at::equal(
      target, at::tensor({1.f, 0.f, 0.f, 1.f, 1.f, 0.f}).view({2, 3})));
}

TEST_F(EdfFiles, ThoseThatCannotBeOpenedAreLeftOutAndTold) {
  const std::string whole = Bytes(Recorded("plus.edf"));
  Write("a.edf", whole.substr(0, 300));
  Write("b.edf", whole);
  std::string annotated = whole;
  annotated[annotated.find("+1.25") + 1] = 'x';
  Write("c.edf", annotated);
  RecordOptions options{.records = folder_.path(), .leads = {"I"}};
  EXPECT_EQ(LoadEdfRecords(options)->Size(), 2);
  ASSERT_EQ(LoadEdfRecords(options)->Unreadable().size(), 1);
  options.labels = LabelSource::kAnnotation;
  options.classes = {.names = {"AFIB"}, .is_multi = true};
  const auto dataset = LoadEdfRecords(options);
  EXPECT_EQ(dataset->Size(), 1);
  const std::vector<Error> unreadable = dataset->Unreadable();
  ASSERT_EQ(unreadable.size(), 2);
  EXPECT_THAT(unreadable[0].what(), HasSubstr("a.edf"));
  EXPECT_THAT(unreadable[1].what(), HasSubstr("an annotation's time is"));
}

}  // namespace
}  // namespace epochd::engine
