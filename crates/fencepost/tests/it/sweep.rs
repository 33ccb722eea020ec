//! Sweeps: the same whatever the number of threads and however they were divided, and what becomes of those that end
//! early.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fencepost::EngineKind;
use fencepost::bundle::Origin;
use fencepost::scenario::Scenario;
use fencepost::sweep::{
    Ended, Header, Merge, Results, SeedResult, Shard, StopOn, StoreError, Sweep, SweepError,
    Totals, Writer,
};
use fencepost_checker::Outcome::Violated;
use fencepost_checker::Property::MutualExclusion;

/// One node and random faults: it is violated now and then. Here that is a failure.
fn scenario() -> Scenario {
    let text = Scenario::find("random/single")
        .expect("it is embedded")
        .text;
    let wrong = text.replace(
        "mutual-exclusion = \"violated\"",
        "mutual-exclusion = \"holds\"",
    );
    assert_ne!(*text, wrong);
    Scenario::parse("single", "single.toml", &wrong).expect("it was one before")
}

fn sweep(scenario: &Scenario, seeds: std::ops::Range<u64>, jobs: usize) -> Sweep<'_> {
    Sweep {
        scenario,
        engine: EngineKind::Event,
        seeds,
        jobs: NonZeroUsize::new(jobs).expect("at least one"),
        stop_on: StopOn::Never,
    }
}

fn all(sweep: &Sweep<'_>) -> Vec<SeedResult> {
    let mut results = Vec::new();
    let ended = sweep.run(&AtomicBool::new(false), |result| {
        results.push(result);
        Ok::<_, StoreError>(())
    });
    assert_eq!(ended.expect("nothing fails"), Ended::Done);
    results
}

fn totals(results: &[SeedResult]) -> Totals {
    let mut totals = Totals::default();
    results.iter().for_each(|result| totals.add(result));
    totals
}

/// Sweeps a part into a folder.
fn write(folder: &Path, scenario: &Scenario, seeds: std::ops::Range<u64>, shard: Shard) {
    let sweep = sweep(scenario, shard.of(&seeds), 1);
    let origin = Origin {
        version: "1".to_owned(),
        commit: "2".to_owned(),
        lockfile: "3".to_owned(),
    };
    let header = Header::new(origin, &sweep, seeds, shard);
    let mut writer = Writer::create(folder, &header).expect("there is room");
    for result in all(&sweep) {
        writer.add(&result).expect("there is room");
    }
}

fn shard(index: u64, count: u64) -> Shard {
    Shard::new(index, count).expect("there is such a part")
}

fn merged(folder: &Path) -> Result<Totals, StoreError> {
    let mut totals = Totals::default();
    Merge::of(Results::all(folder)?)?.read(StopOn::Never, |result| totals.add(&result))?;
    Ok(totals)
}

#[test]
fn results_hang_neither_on_threads_nor_on_shards() {
    let scenario = scenario();
    let one = all(&sweep(&scenario, 0..150, 1));
    assert_eq!(one, all(&sweep(&scenario, 0..150, 2)));
    assert_eq!(one, all(&sweep(&scenario, 0..150, 5)));
    assert!(one.iter().map(|result| result.seed).eq(0..150));
    let folder = tempfile::tempdir().expect("there is room");
    for index in [2, 0, 1] {
        write(folder.path(), &scenario, 0..150, shard(index, 3));
    }
    let (whole, merged) = (totals(&one), merged(folder.path()).expect("all is there"));
    assert_eq!(merged.digest(), whole.digest());
    assert_eq!(merged.rows(&scenario.expect), whole.rows(&scenario.expect));
    assert_eq!(merged.families, whole.families);
    assert_eq!(merged.causes, whole.causes);
    // Another seed is another digest.
    assert_ne!(totals(&one[1..]).digest(), whole.digest());
}

#[test]
fn totals_are_sums() {
    let scenario = scenario();
    let results = all(&sweep(&scenario, 0..150, 2));
    let totals = totals(&results);
    let violated: Vec<u64> = results
        .iter()
        .filter(|result| result.verdicts[&MutualExclusion] == Violated)
        .map(|result| result.seed)
        .collect();
    let property = totals.properties[&MutualExclusion];
    assert_eq!(property.tally.violated, violated.len() as u64);
    assert_eq!(property.first_violated, violated.first().copied());
    assert_eq!(property.tally.schedules(), 150);
    assert_eq!(totals.failures, violated.len() as u64);
    assert_eq!(totals.failing, &violated[..violated.len().min(10)]);
    // A violation has a cause.
    let causes: u64 = totals.causes.values().sum();
    assert!(causes >= property.tally.violated);
    for (name, family) in &totals.families {
        assert!(
            family.overlapped <= family.fired && family.fired <= family.on && family.on <= 150,
            "{name}: {family:?}"
        );
    }
    assert!(totals.families["pause"].overlapped > 0);
}

#[test]
fn the_lowest_failures_end_it_whatever_ran_beside_them() {
    let scenario = scenario();
    let results = all(&sweep(&scenario, 0..150, 1));
    let failed: Vec<u64> = results
        .iter()
        .filter(|result| result.failed())
        .map(|result| result.seed)
        .collect();
    assert!(failed.len() > 3);
    for (enough, jobs) in [(1, 1), (1, 4), (3, 2)] {
        let stopping = Sweep {
            stop_on: StopOn::Failures(enough),
            ..sweep(&scenario, 0..150, jobs)
        };
        let last = failed[usize::try_from(enough).unwrap() - 1];
        assert!(all(&stopping).iter().map(|one| one.seed).eq(0..=last));
    }
    // In a merge as well.
    let folder = tempfile::tempdir().expect("there is room");
    write(folder.path(), &scenario, 0..150, shard(0, 2));
    write(folder.path(), &scenario, 0..150, shard(1, 2));
    let mut seeds = Vec::new();
    let merge = Merge::of(Results::all(folder.path()).unwrap()).unwrap();
    merge
        .read(StopOn::Failures(2), |result| seeds.push(result.seed))
        .unwrap();
    assert!(seeds.into_iter().eq(0..=failed[1]));
}

#[test]
fn what_was_done_before_an_interruption_is_kept() {
    let scenario = scenario();
    let (stop, mut seeds) = (AtomicBool::new(false), Vec::new());
    let ended = sweep(&scenario, 0..1_000_000, 2).run(&stop, |result| {
        seeds.push(result.seed);
        stop.store(seeds.len() >= 20, Ordering::Relaxed);
        Ok::<_, StoreError>(())
    });
    assert_eq!(ended.expect("nothing fails"), Ended::Interrupted);
    assert!(seeds.len() >= 20);
    assert!(seeds.iter().copied().eq(0..seeds.len() as u64));
}

#[test]
fn a_result_that_nobody_takes_ends_it() {
    let scenario = scenario();
    let ended = sweep(&scenario, 0..1_000, 2).run(&AtomicBool::new(false), |result| {
        if result.seed == 3 {
            Err("full")
        } else {
            Ok(())
        }
    });
    assert!(matches!(ended, Err(SweepError::Sink("full"))));
}

#[test]
fn a_file_of_results_comes_back() {
    let scenario = scenario();
    let folder = tempfile::tempdir().expect("there is room");
    write(folder.path(), &scenario, 5..25, Shard::WHOLE);
    let path = folder.path().join("single-event-5-25.sweep.jsonl");
    let results = Results::open(&path).expect("it is there");
    assert!(results.header().is_of(&scenario));
    let results: Result<Vec<_>, _> = results.collect();
    assert_eq!(
        results.expect("it is whole"),
        all(&sweep(&scenario, 5..25, 1))
    );
}

/// What a merge of these says, with the folder's path taken out.
#[track_caller]
fn refused(folder: &Path, says: &str) {
    let error = merged(folder).expect_err("it cannot be merged").to_string();
    let error = error.replace(&format!("{}/", folder.display()), "");
    assert_eq!(error, says);
}

#[test]
fn what_cannot_be_merged_is_said() {
    let scenario = scenario();
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path();
    assert!(
        merged(folder)
            .expect_err("nothing is there")
            .to_string()
            .ends_with("has no results: they are in files called *.sweep.jsonl")
    );
    write(folder, &scenario, 0..30, shard(0, 3));
    write(folder, &scenario, 0..30, shard(2, 3));
    refused(
        folder,
        "part 1/3 is missing, with the seeds 10..20: sweep it with --shard 1/3",
    );
    write(folder, &scenario, 0..30, shard(1, 3));
    merged(folder).expect("now all is there");

    let second = folder.join("single-event-0-30-1of3.sweep.jsonl");
    let whole = fs::read_to_string(&second).expect("it was written");
    let cut = &whole[..whole.len() - 20];
    fs::write(&second, cut).expect("there is room");
    let gap = "single-event-0-30-1of3.sweep.jsonl has not what should follow from seed 19 on: sweep part 1/3 again";
    refused(folder, gap);
    let lines: Vec<&str> = whole.lines().collect();
    fs::write(&second, lines[..10].join("\n")).expect("there is room");
    refused(folder, gap);
    fs::write(&second, whole.replacen("\"seed\":13", "\"seed\":14", 1)).expect("there is room");
    refused(folder, &gap.replace("seed 19", "seed 13"));
    fs::write(&second, whole.replacen("\"standing\"", "\"sanding\"", 1)).expect("there is room");
    let error = merged(folder).expect_err("a line is no result").to_string();
    assert!(
        error.contains("1of3.sweep.jsonl, line 2: unknown field `sanding`"),
        "{error}"
    );

    fs::write(&second, &whole).expect("there is room");
    fs::copy(&second, folder.join("copy.sweep.jsonl")).expect("there is room");
    refused(
        folder,
        "copy.sweep.jsonl and single-event-0-30-1of3.sweep.jsonl are both part 1/3",
    );
    fs::remove_file(folder.join("copy.sweep.jsonl")).expect("it is there");
    write(folder, &scenario, 0..31, shard(1, 3));
    let error = merged(folder).expect_err("another sweep").to_string();
    assert!(
        error.ends_with("are not parts of one sweep: they differ in the range of all seeds"),
        "{error}"
    );
}
