//! Plans for proptest: a seed draws one, and shrinking takes its faults away, one by one.

use fencepost_world::plan::Fault;
use proptest::prelude::Rng;
use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::Plan;
use crate::scenario::Scenario;

/// Every plan of a scenario, each by its seed. Give one to [`runner::run`](crate::runner::run), or with a lock of your own
/// to [`runner::run_with`](crate::runner::run_with), and judge the history.
///
/// ```
/// use fencepost::EngineKind;
/// use fencepost::plan::Plans;
/// use fencepost::runner::run;
/// use fencepost::scenario::Scenario;
/// use fencepost_checker::{Outcome, Property, run::Run};
/// use proptest::prelude::*;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let plans = Plans::of(Scenario::find("random/redlock-in-model")?);
/// proptest!(ProptestConfig::with_cases(20), |(plan in plans)| {
///     let history = run(&plan, EngineKind::Event);
///     let verdict = Property::MutualExclusion.judge(&Run::of(&history));
///     prop_assert_ne!(verdict.outcome, Outcome::Violated);
/// });
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Plans(Scenario);

impl Plans {
    /// The plans of a scenario.
    #[must_use]
    pub fn of(scenario: Scenario) -> Self {
        Self(scenario)
    }
}

impl Strategy for Plans {
    type Tree = PlanTree;
    type Value = Plan;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let plan = Plan::draw(&self.0, runner.rng().next_u64());
        Ok(PlanTree {
            faults: plan.world.faults.iter().cloned().map(Some).collect(),
            all: plan.world.faults.clone(),
            plan,
            next: 0,
            last: None,
        })
    }
}

/// A plan and those of its faults that are still in it.
#[derive(Clone, Debug)]
pub struct PlanTree {
    plan: Plan,
    all: Vec<Fault>,
    faults: Vec<Option<Fault>>,
    /// The first fault of which it is not known whether it is needed.
    next: usize,
    /// The fault that was taken away last.
    last: Option<usize>,
}

impl ValueTree for PlanTree {
    type Value = Plan;

    fn current(&self) -> Plan {
        let mut plan = self.plan.clone();
        plan.world.faults = self.faults.iter().flatten().cloned().collect();
        plan
    }

    fn simplify(&mut self) -> bool {
        let Some(fault) = self.faults.get_mut(self.next) else {
            return false;
        };
        *fault = None;
        self.last = Some(self.next);
        self.next += 1;
        true
    }

    fn complicate(&mut self) -> bool {
        let Some(last) = self.last.take() else {
            return false;
        };
        self.faults[last] = Some(self.all[last].clone());
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::test_runner::{TestError, TestRunner};

    use super::*;

    #[test]
    fn what_is_not_needed_is_taken_away() {
        let scenario = Scenario::find("random/redlock").expect("it is embedded");
        let needed = |plan: &Plan| {
            let of = |family: &str| {
                let mut faults = plan.world.faults.iter();
                faults.any(|fault| fault.action.family() == family)
            };
            of("pause") && of("reset")
        };
        let found = TestRunner::deterministic().run(&Plans::of(scenario), |plan| {
            proptest::prop_assert!(!needed(&plan));
            Ok(())
        });
        let Err(TestError::Fail(_, plan)) = found else {
            panic!("every fourth plan has both: {found:?}");
        };
        assert_eq!(plan.world.faults.len(), 2);
        assert!(needed(&plan));
    }
}
