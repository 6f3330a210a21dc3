#include "engine/computes.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "job/test_folder.h"

namespace phalanx::engine {
namespace {

class ComputesFiles : public ::testing::Test {
 protected:
  ComputesFiles() {
    EXPECT_TRUE(make_folders(home()) && make_folders(project()));
    ::setenv("PHALANX_HOME", home().c_str(), 1);
  }
  ~ComputesFiles() override { ::unsetenv("PHALANX_HOME"); }

  std::string home() const { return folder_.path + "/home"; }
  std::string project() const { return folder_.path + "/project"; }
  static void write(const std::string& path, const std::string& text) { EXPECT_TRUE(write_file(path, text)); }
  std::string error_of_reading() const {
    const auto read = read_computes(project());
    return read ? "" : read.error().reason;
  }

 private:
  job::TestFolder folder_;
};

TEST_F(ComputesFiles, WithoutFilesThereIsThisMachine) {
  for (const std::string& folder : {project(), std::string()}) {
    const auto computes = read_computes(folder);
    ASSERT_TRUE(computes);
    EXPECT_EQ(computes->standard()->name, "local");
    EXPECT_EQ(computes->named("azureml:LOCAL")->kind, spec::Compute::Kind::local);
    EXPECT_EQ(computes->all().size(), 1u);
    const auto unknown = computes->named("azureml:gpu");
    EXPECT_EQ(unknown.error().code, Code::not_found);
    EXPECT_EQ(unknown.error().reason,
              "there is no compute 'gpu'; known: local; describe it in " + home() + "/computes.yml");
  }
}

TEST_F(ComputesFiles, TheOneBesideTheJobWinsByName) {
  write(home() + "/computes.yml",
        "default: cluster\ncomputes:\n  cluster: {type: slurm, partition: a}\n  other: {type: slurm}\n");
  write(project() + "/phalanx.yml",
        "computes:\n  cluster: {type: slurm, partition: b}\n  hosts: {type: ssh, hosts: [h]}\n");
  const auto computes = read_computes(project());
  ASSERT_TRUE(computes) << computes.error().reason;
  EXPECT_EQ(computes->standard()->partition, "b");
  EXPECT_EQ(computes->all().size(), 4u);
  EXPECT_EQ(computes->named("hosts")->hosts.size(), 1u);
  EXPECT_EQ(computes->named("clutser").error().reason,
            "there is no compute 'clutser'; did you mean 'cluster'? known: local, cluster, other, hosts");
  EXPECT_EQ(read_computes("")->standard()->partition, "a");
}

TEST_F(ComputesFiles, TheDefaultBesideTheJobWins) {
  write(home() + "/computes.yml", "default: cluster\ncomputes: {cluster: {type: slurm}}\n");
  write(project() + "/phalanx.yml", "default: local\n");
  EXPECT_EQ(read_computes(project())->standard()->name, "local");
}

TEST_F(ComputesFiles, ADefaultThatIsNoneIsAnErrorWithItsPlace) {
  write(project() + "/phalanx.yml", "computes: {cluster: {type: slurm}}\ndefault: clusters\n");
  EXPECT_EQ(error_of_reading(),
            project() +
                "/phalanx.yml:2:10: default is 'clusters', which is no compute; did you mean "
                "'cluster'? known: local, cluster");
}

TEST_F(ComputesFiles, ProblemsNameTheFile) {
  write(home() + "/computes.yml", "computes: {cluster: {type: slrum}}\n");
  EXPECT_TRUE(error_of_reading().starts_with(home() + "/computes.yml:1:28: cluster.type is the text 'slrum'"))
      << error_of_reading();
}

TEST_F(ComputesFiles, AHostfileTroublesOnlyThoseWhoUseIt) {
  write(project() + "/phalanx.yml",
        "computes: {hosts: {type: ssh, hostfile: ./hosts}, others: {type: ssh, hosts: [h]}}\n");
  const auto computes = read_computes(project());
  ASSERT_TRUE(computes);
  EXPECT_TRUE(computes->named("others"));
  EXPECT_EQ(computes->named("hosts").error().code, Code::invalid);
  EXPECT_NE(computes->named("hosts").error().reason.find("compute hosts: its hostfile cannot be read"),
            std::string::npos);
  write(project() + "/hosts", "a slots=x\n");
  EXPECT_TRUE(
      computes->named("hosts").error().reason.starts_with(project() + "/hosts:1:3: a has 'x' for slots"));
  write(project() + "/hosts", "a slots=2\nb\n");
  EXPECT_EQ(computes->named("hosts")->hosts.size(), 2u);
}

}  // namespace
}  // namespace phalanx::engine
