//! Building a world and letting it run.

use std::future::Future;
use std::rc::Rc;

use fencepost_checker::history::{Event, What};

use crate::core::{Core, Entered, HostState, Process, Program};
use crate::engine::event::EventEngine;
use crate::engine::turmoil::TurmoilEngine;
use crate::engine::{Engine, EngineKind};
use crate::host::Host;
use crate::plan::WorldPlan;
use crate::service::Service;

/// A world that is being built: a plan, and what its hosts run.
pub struct World {
    plan: WorldPlan,
    engine: EngineKind,
    services: Vec<Option<Box<dyn Service>>>,
    programs: Vec<Option<Program>>,
    daemons: Vec<Option<Program>>,
}

/// A plan that no world can be built from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A fault, a link or a caller names a host that the plan does not have.
    #[error("the plan has no host {0:?}")]
    UnknownHost(String),
    /// Two hosts have one name.
    #[error("the plan has two hosts {0:?}")]
    DuplicateHost(String),
}

impl World {
    /// A world of that plan on that engine.
    ///
    /// # Errors
    /// The plan contradicts itself.
    pub fn new(plan: WorldPlan, engine: EngineKind) -> Result<Self, PlanError> {
        for (index, host) in plan.hosts.iter().enumerate() {
            if plan.hosts[..index]
                .iter()
                .any(|other| other.name == host.name)
            {
                return Err(PlanError::DuplicateHost(host.name.clone()));
            }
        }
        let unknown = plan
            .named_hosts()
            .find(|name| plan.hosts.iter().all(|host| host.name != **name));
        if let Some(name) = unknown {
            return Err(PlanError::UnknownHost(name.to_owned()));
        }
        let services = plan.hosts.iter().map(|_| None).collect();
        let programs = plan.hosts.iter().map(|_| None).collect();
        let daemons = plan.hosts.iter().map(|_| None).collect();
        Ok(Self {
            plan,
            engine,
            services,
            programs,
            daemons,
        })
    }

    fn index(&self, host: &str) -> Result<usize, PlanError> {
        let index = self.plan.hosts.iter().position(|own| own.name == host);
        index.ok_or_else(|| PlanError::UnknownHost(host.to_owned()))
    }

    /// The host serves that.
    ///
    /// # Errors
    /// There is no such host.
    pub fn serve(&mut self, host: &str, service: Box<dyn Service>) -> Result<(), PlanError> {
        let index = self.index(host)?;
        self.services[index] = Some(service);
        Ok(())
    }

    /// The host runs that, from the start and again after each restart. The run ends when all programs have ended.
    ///
    /// # Errors
    /// There is no such host.
    pub fn program<F>(
        &mut self,
        host: &str,
        program: impl Fn(Host) -> F + 'static,
    ) -> Result<(), PlanError>
    where
        F: Future<Output = ()> + 'static,
    {
        let index = self.index(host)?;
        self.programs[index] = Some(Box::new(move |host| Box::pin(program(host))));
        Ok(())
    }

    /// The host runs that too, like a [`program`](Self::program), but the run does not wait for its end.
    ///
    /// # Errors
    /// There is no such host.
    pub fn daemon<F>(
        &mut self,
        host: &str,
        program: impl Fn(Host) -> F + 'static,
    ) -> Result<(), PlanError>
    where
        F: Future<Output = ()> + 'static,
    {
        let index = self.index(host)?;
        self.daemons[index] = Some(Box::new(move |host| Box::pin(program(host))));
        Ok(())
    }

    /// Runs the world to its end and returns all that happened.
    #[must_use]
    pub fn run(self) -> Vec<Event> {
        let plan = &self.plan;
        let parts = self
            .services
            .into_iter()
            .zip(self.programs)
            .zip(self.daemons)
            .enumerate();
        let hosts = parts
            .map(|(index, ((service, program), daemon))| {
                HostState::new(plan, index, service, program, daemon)
            })
            .collect();
        let engine: Box<dyn Engine> = match self.engine {
            EngineKind::Event => Box::new(EventEngine::default()),
            EngineKind::Turmoil => Box::new(TurmoilEngine::new()),
        };
        let core = Rc::new(Core::new(self.plan, hosts, engine));
        let _entered = Entered::new(&core);
        begin(&core);
        core.engine.run(&core);
        let history = core.take_history();
        end(&core);
        history
    }
}

fn begin(core: &Core) {
    for host in core.all() {
        core.record(What::Host {
            host: core.name(host),
            role: core.of(host).role,
        });
        core.record(What::Clock {
            host: core.name(host),
            segment: core.of(host).clock.get(),
        });
        if core.of(host).program.is_some() {
            core.program_started();
        }
    }
    core.plan_faults();
    for host in core.all() {
        core.start(host);
    }
}

/// Drops all tasks while their destructors can still find the world.
fn end(core: &Core) {
    for host in core.all() {
        core.of(host).process.set(Process::Off);
        core.executor.doom(host);
        core.executor.bury(host);
    }
}
