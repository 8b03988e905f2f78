// SPDX-License-Identifier: PostgreSQL
#include "sidecar/store/store.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/catch.h"
#include "tests/support/temporary_directory.h"

namespace varve::store {
namespace {

Options OptionsFor(const test::TemporaryDirectory& directory) {
  return Options{directory.path(), uint64_t{16} << 20};
}

TEST_CASE("a batch takes effect as a whole, also after the store is opened again") {
  const test::TemporaryDirectory directory;
  {
    auto store = Store::Open(OptionsFor(directory)).value();
    Batch batch(store.get());
    CHECK(batch.empty());
    batch.Put(Family::kHead, "a", "1");
    batch.Put(Family::kLog, "b", "2");
    CHECK_FALSE(batch.empty());
    REQUIRE(store->Write(&batch, Durability::kSynced));
    CHECK(store->Get(Family::kHead, "a").value() == "1");
    CHECK(store->Get(Family::kLog, "b").value() == "2");
    CHECK_FALSE(store->Get(Family::kHead, "b").value().has_value());
    CHECK(store->Bytes() > 0);
  }
  auto store = Store::Open(OptionsFor(directory)).value();
  CHECK(store->Get(Family::kHead, "a").value() == "1");
  const auto found = store->MultiGet(Family::kHead, {"a", "x"}).value();
  CHECK(found[0] == "1");
  CHECK_FALSE(found[1].has_value());
}

TEST_CASE("a snapshot does not see later writes, in gets and in iterators, and bounds hold both ways") {
  const test::TemporaryDirectory directory;
  auto store = Store::Open(OptionsFor(directory)).value();
  for (const char* key : {"a", "b", "c", "d"})
    REQUIRE(store->Put(Family::kHead, key, key, Durability::kBuffered));
  const auto snapshot = store->TakeSnapshot();
  REQUIRE(store->Put(Family::kHead, "b2", "late", Durability::kBuffered));
  CHECK_FALSE(store->Get(Family::kHead, "b2", snapshot.get()).value().has_value());
  std::string seen;
  Iterator it = store->NewIterator(Family::kHead, "b", "d", snapshot.get());
  for (it.SeekToFirst(); it.Valid(); it.Next()) seen += it.key();
  for (it.SeekToLast(); it.Valid(); it.Prev()) seen += it.key();
  REQUIRE(it.status());
  CHECK(seen == "bccb");
  it.SeekForPrev("bz");
  CHECK(it.key() == "b");
  it.Seek("bz");
  CHECK(it.key() == "c");
}

TEST_CASE("a second opener is refused by name, from this process and from another") {
  const test::TemporaryDirectory directory;
  auto store = Store::Open(OptionsFor(directory)).value();
  const auto second = Store::Open(OptionsFor(directory));
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code == base::ErrorCode::kUnavailable);
  CHECK(second.error().message.find("another varved holds this store") != std::string::npos);

  const pid_t child = fork();
  if (child == 0) {
    const auto other = Store::Open(OptionsFor(directory));
    _exit(!other && other.error().code == base::ErrorCode::kUnavailable ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("sorted files go into an empty family at once and survive reopening; clearing empties it") {
  const test::TemporaryDirectory directory;
  {
    auto store = Store::Open(OptionsFor(directory)).value();
    auto file = store->NewSortedFile(Family::kKeyframe, 0).value();
    REQUIRE(file.Add("k1", "v1"));
    REQUIRE(file.Add("k2", "v2"));
    REQUIRE(file.Finish());
    REQUIRE(store->Ingest(Family::kKeyframe, {file.path()}));
    auto left_over = store->NewSortedFile(Family::kKeyframe, 7).value();
    REQUIRE(left_over.Add("k3", "v3"));
    REQUIRE(left_over.Finish());
    REQUIRE(std::filesystem::exists(left_over.path()));
  }
  auto store = Store::Open(OptionsFor(directory)).value();
  CHECK(store->Get(Family::kKeyframe, "k2").value() == "v2");
  CHECK_FALSE(std::filesystem::exists(directory.path() + "/keyframe-7.sorted"));
  REQUIRE(store->Clear(Family::kKeyframe));
  CHECK_FALSE(store->Get(Family::kKeyframe, "k2").value().has_value());
  REQUIRE(store->Put(Family::kStaging, "x", "y", Durability::kNoLog));
  REQUIRE(store->Flush(Family::kStaging));
  CHECK(store->Get(Family::kStaging, "x").value() == "y");
}

TEST_CASE("a directory that cannot be made and a damaged file are errors that say so") {
  const auto nowhere = Store::Open(Options{"/proc/no/such", uint64_t{16} << 20});
  REQUIRE_FALSE(nowhere.has_value());
  CHECK(nowhere.error().message.find("/proc/no/such") != std::string::npos);

  const test::TemporaryDirectory directory;
  {
    auto store = Store::Open(OptionsFor(directory)).value();
    REQUIRE(store->Put(Family::kHead, "a", "1", Durability::kSynced));
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    if (entry.path().filename().string().rfind("MANIFEST", 0) == 0)
      std::filesystem::resize_file(entry.path(), 10);
  }
  const auto damaged = Store::Open(OptionsFor(directory));
  REQUIRE_FALSE(damaged.has_value());
  CHECK(damaged.error().code == base::ErrorCode::kInternal);
}

}  // namespace
}  // namespace varve::store
