//! The page on sweeps over many machines: it shows the files that it speaks of, and their scripts do what it says.

use std::path::{Path, PathBuf};

use saphyr::{LoadableYamlNode, Yaml};

use crate::program::{Call, Place, scenario};

/// The scripts of one batch system.
struct Batch {
    sweep: Step,
    merge: Step,
    /// Where the system says which shard it is.
    index: &'static str,
}

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(docs(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

impl Batch {
    fn kubernetes() -> Self {
        let (sweep, merge) = (text("scale-out/job.yaml"), text("scale-out/merge.yaml"));
        Self {
            sweep: Step::container(yaml(&sweep).last().expect("the job")),
            merge: Step::container(&yaml(&merge)[0]),
            index: "JOB_COMPLETION_INDEX",
        }
    }

    fn slurm() -> Self {
        Self {
            sweep: Step::script("array.sh"),
            merge: Step::script("merge.sh"),
            index: "SLURM_ARRAY_TASK_ID",
        }
    }

    fn workflow() -> Self {
        let text = text("scale-out/shards.yml");
        let workflow = &yaml(&text)[0];
        Self {
            sweep: Step::workflow(workflow, "shard", "sweep"),
            merge: Step::workflow(workflow, "merge", "merge"),
            index: "INDEX",
        }
    }

    fn all() -> [Self; 3] {
        [Self::kubernetes(), Self::slurm(), Self::workflow()]
    }

    /// Runs one of three shards.
    fn shard(&self, place: &Place, scenario: &str, seeds: &str, index: &str) -> Call {
        self.shard_with(place, scenario, seeds, &[(self.index, index)])
    }

    fn shard_with(&self, place: &Place, scenario: &str, seeds: &str, set: &[(&str, &str)]) -> Call {
        let sweep = [
            ("SCENARIO", scenario),
            ("SEEDS", seeds),
            ("SHARDS", "3"),
            RESULTS,
        ];
        self.sweep.run(place, &[&sweep, set].concat())
    }

    fn shards(&self, place: &Place, scenario: &str, seeds: &str) {
        for index in ["0", "1", "2"] {
            let call = self.shard(place, scenario, seeds, index);
            assert_eq!(call.code, 0, "{}", call.text());
        }
    }

    fn merge(&self, place: &Place) -> Call {
        self.merge.run(place, &[RESULTS])
    }
}

const RESULTS: (&str, &str) = ("RESULTS", "results");

/// A step as its batch system runs it: what is called, and what the environment is by default.
struct Step {
    command: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Step {
    /// A script that is submitted as it is.
    fn script(name: &str) -> Self {
        let path = docs(&format!("scale-out/{name}"));
        Self {
            command: vec!["sh".to_owned(), path.to_string_lossy().into_owned()],
            environment: Vec::new(),
        }
    }

    /// The only container of a Kubernetes Job.
    fn container(job: &Yaml<'_>) -> Self {
        let container = &job["spec"]["template"]["spec"]["containers"][0];
        let words = |key: &str| items(&container[key]).map(string).collect::<Vec<_>>();
        let entry = |entry: &Yaml<'_>| (string(&entry["name"]), string(&entry["value"]));
        Self {
            command: [words("command"), words("args")].concat(),
            environment: items(&container["env"]).map(entry).collect(),
        }
    }

    /// A step of a workflow's job, by its name.
    fn workflow(workflow: &Yaml<'_>, job: &str, name: &str) -> Self {
        let mut steps = items(&workflow["jobs"][job]["steps"]);
        let step =
            steps.find(|step| step.as_mapping_get("name").and_then(Yaml::as_str) == Some(name));
        let run = string(&step.unwrap_or_else(|| panic!("no step {name}"))["run"]);
        let entries = workflow["env"].as_mapping().expect("variables");
        Self {
            command: ["bash", "-ec", &run].map(str::to_owned).to_vec(),
            environment: entries
                .iter()
                .map(|(name, value)| (string(name), string(value)))
                .collect(),
        }
    }

    /// Runs it with other variables on top of its own.
    fn run(&self, place: &Place, variables: &[(&str, &str)]) -> Call {
        let own = self.environment.iter();
        let own = own.map(|(name, value)| (name.as_str(), value.as_str()));
        let all: Vec<(&str, &str)> = own.chain(variables.iter().copied()).collect();
        let command: Vec<&str> = self.command.iter().map(String::as_str).collect();
        place.shell(&command, &all)
    }
}

fn items<'y>(list: &'y Yaml<'_>) -> impl Iterator<Item = &'y Yaml<'y>> {
    list.as_vec().into_iter().flatten()
}

/// A scalar as a batch system hands it on.
fn string(scalar: &Yaml<'_>) -> String {
    let number = || scalar.as_integer().map(|number| number.to_string());
    let text = scalar.as_str().map(str::to_owned).or_else(number);
    text.unwrap_or_else(|| panic!("no text: {scalar:?}"))
}

fn yaml(text: &str) -> Vec<Yaml<'_>> {
    Yaml::load_from_str(text).expect("YAML")
}

/// The last word of what a sweep or a merge tells people.
fn digest(call: &Call) -> &str {
    let word = call.stdout.split_whitespace().last().unwrap_or_default();
    assert!(word.starts_with("sha256:"), "{}", call.stdout);
    word
}

/// `scenario` with one value of its expectations changed.
fn changed(place: &Place, scenario_name: &str, from: &str, to: &str) -> String {
    let text = scenario(scenario_name);
    assert!(text.contains(from), "{from}");
    place.write("changed.toml", &text.replacen(from, to, 1))
}

#[test]
fn the_page_shows_the_files() {
    let page = text("scale-out.md");
    let mut shown: Vec<&str> = Vec::new();
    for block in page.split("<!-- file: ").skip(1) {
        let (name, rest) = block
            .split_once(" -->\n```")
            .expect("a fence behind the name");
        let (_, body) = rest.split_once('\n').expect("a line");
        let (body, _) = body.split_once("```").expect("an end");
        assert_eq!(body, text(name), "{name}");
        shown.push(name);
    }
    let files = std::fs::read_dir(docs("scale-out")).expect("the folder is there");
    assert_eq!(shown.len(), files.count(), "{shown:?}");
}

#[test]
fn the_numbers_of_shards_agree() {
    let number = |step: &Step| {
        let own = step.environment.iter().find(|(name, _)| name == "SHARDS");
        own.expect("SHARDS is set").1.clone()
    };
    let job = text("scale-out/job.yaml");
    let completions = string(&yaml(&job)[1]["spec"]["completions"]);
    assert_eq!(number(&Batch::kubernetes().sweep), completions);
    let workflow = text("scale-out/shards.yml");
    let indices = &yaml(&workflow)[0]["jobs"]["shard"]["strategy"]["matrix"]["index"];
    let indices: Vec<String> = items(indices).map(string).collect();
    let counted: Vec<String> = (0..indices.len()).map(|index| index.to_string()).collect();
    assert_eq!(indices, counted);
    assert_eq!(number(&Batch::workflow().sweep), indices.len().to_string());
    let script = text("scale-out/array.sh");
    for line in ["#SBATCH --array=0-99\n", "SHARDS=${SHARDS:-100}\n"] {
        assert!(script.contains(line), "{line}");
    }
}

#[test]
fn each_script_comes_to_the_same_as_one_machine() {
    let (name, seeds) = ("random/redlock-in-model", "5..35");
    for batch in Batch::all() {
        let place = Place::new();
        let whole = place.call(&["sweep", name, "--seeds", seeds, "--json"]);
        batch.shards(&place, name, seeds);
        let merged = batch.merge(&place);
        assert_eq!(merged.code, 0, "{}", merged.text());
        assert!(
            merged.stdout.contains("as expected: 30 schedules"),
            "{}",
            merged.stdout
        );
        assert_eq!(digest(&merged), whole.summary()["digest"]);
    }
}

/// A promise that some seeds break: every shard has its results, and the verdict is the merge's.
#[test]
fn a_shard_with_failures_is_a_result() {
    let (right, wrong) = (
        "mutual-exclusion = \"violated\"",
        "mutual-exclusion = \"holds\"",
    );
    for batch in Batch::all() {
        let place = Place::new();
        let path = changed(&place, "random/single", right, wrong);
        batch.shards(&place, &path, "0..12");
        let merged = batch.merge(&place);
        assert_eq!(merged.code, 1, "{}", merged.text());
        // The lowest that failed has its bundle, in the folder of its shard.
        let bundle = place.path("results/shard-0/changed-0-event/bundle.json");
        assert!(bundle.exists(), "{}", merged.stdout);
    }
}

/// Violations that lie with one shard: the others, which do not see any, are told otherwise by themselves.
#[test]
fn a_shards_verdict_is_not_the_sweeps() {
    let place = Place::new();
    let path = changed(
        &place,
        "random/single",
        "min-schedules = 200",
        "min-schedules = 1",
    );
    let alone = |index: &str| {
        let shard = format!("{index}/3");
        place
            .call(&["sweep", &path, "--seeds", "0..12", "--shard", &shard])
            .code
    };
    assert_eq!([alone("0"), alone("1"), alone("2")], [0, 1, 1]);
    let batch = Batch::kubernetes();
    batch.shards(&place, &path, "0..12");
    assert_eq!(batch.merge(&place).code, 0);
}

#[test]
fn what_is_no_result_is_handed_on() {
    for batch in Batch::all() {
        let place = Place::new();
        let call = batch.shard(&place, "random/sinlge", "0..12", "0");
        assert_eq!(call.code, 96, "{}", call.text());
    }
}

/// What the page says of shards that are lost, cut short or there twice, and that running one again mends it.
#[test]
fn a_lost_shard_is_named_and_run_again() {
    let place = Place::new();
    let (name, seeds) = ("random/single", "0..30");
    let batch = Batch::slurm();
    batch.shards(&place, name, seeds);
    let merged = batch.merge(&place);
    assert_eq!(merged.code, 0, "{}", merged.text());
    let results = |shard: &str| {
        place.path(&format!(
            "results/{shard}/random-single-event-0-30-1of3.sweep.jsonl"
        ))
    };
    let says = |words: &str| {
        let call = batch.merge(&place);
        assert_eq!(call.code, 96, "{}", call.text());
        assert!(call.stderr.contains(words), "{words}: {}", call.stderr);
    };

    let whole = std::fs::read_to_string(results("shard-1")).expect("the results are there");
    std::fs::write(results("shard-1"), &whole[..whole.len() - 20]).expect("there is room");
    says("has not what should follow from seed 19 on: sweep part 1/3 again");
    std::fs::remove_file(results("shard-1")).expect("it is there");
    says("results/shard-1 has no results");
    std::fs::remove_dir_all(place.path("results/shard-1")).expect("it is there");
    says("part 1/3 is missing, with the seeds 10..20: sweep it with --shard 1/3");

    // `sbatch --array=1`: the array has but one task, which is its first.
    let only = [("SLURM_ARRAY_TASK_ID", "1"), ("SLURM_ARRAY_TASK_MIN", "1")];
    let again = batch.shard_with(&place, name, seeds, &only);
    assert_eq!(again.code, 0, "{}", again.text());
    assert_eq!(
        std::fs::read_to_string(results("shard-1")).ok(),
        Some(whole.clone())
    );
    assert_eq!(digest(&batch.merge(&place)), digest(&merged));

    std::fs::create_dir(place.path("results/shard-1-again")).expect("there is room");
    std::fs::write(results("shard-1-again"), whole).expect("there is room");
    says("are both part 1/3");
}
