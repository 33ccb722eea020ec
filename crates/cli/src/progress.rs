//! How far a sweep is: a bar on a terminal, a line now and then elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::stopwatch::Stopwatch;

/// How often a log gets a line.
const EACH: Duration = Duration::from_secs(10);

const BAR: &str =
    "{bar:30} {human_pos}/{human_len}  {per_sec:.0}  {msg}  {elapsed} gone, {eta} to go";

pub(crate) struct Progress {
    bar: ProgressBar,
    on_terminal: bool,
    total: u64,
    done: u64,
    stopwatch: Stopwatch,
    said: Duration,
}

impl Progress {
    pub(crate) fn of(total: u64) -> Self {
        let on_terminal = stderr().is_terminal();
        let target = if on_terminal {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        bar.set_style(ProgressStyle::with_template(BAR).expect("the template is a constant"));
        Self {
            bar,
            on_terminal,
            total,
            done: 0,
            stopwatch: Stopwatch::start(),
            said: Duration::ZERO,
        }
    }

    /// One schedule more is done, and so many have failed.
    pub(crate) fn step(&mut self, failures: u64) {
        self.done += 1;
        self.bar.set_message(format!("{failures} failed"));
        self.bar.inc(1);
        let gone = self.stopwatch.elapsed();
        if !self.on_terminal && gone - self.said >= EACH {
            self.said = gone;
            let rate = self.done as f64 / gone.as_secs_f64();
            eprintln!(
                "{} of {} schedules, {rate:.0} a second, {failures} failed, {:.0} s to go",
                self.done,
                self.total,
                (self.total - self.done) as f64 / rate
            );
        }
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
