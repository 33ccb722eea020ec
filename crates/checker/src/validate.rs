//! What a history must be before it is judged.

use std::collections::BTreeSet;

use crate::error::HistoryError;
use crate::history::{Event, FORMAT, History, Name, What};

impl History {
    /// Checks that this is a whole history of this format: numbers without gaps, time that does not go back, hosts
    /// and their clocks introduced before they are named, one `end` and nothing after it.
    ///
    /// # Errors
    /// The first thing that is wrong, with the line that it has as JSON Lines.
    pub fn validate(&self) -> Result<(), HistoryError> {
        if self.header.format != FORMAT {
            return Err(HistoryError::OtherFormat {
                format: u64::from(self.header.format),
            });
        }
        let mut reader = Reader::default();
        for (event, line) in self.events.iter().zip(2..) {
            reader.place(event, line)?;
            reader.hosts(event, line)?;
            reader.clocks(event, line)?;
            reader.before = Some(event);
        }
        match reader.before.map(|event| &event.what) {
            Some(What::End { .. }) => Ok(()),
            _ => Err(HistoryError::NoEnd {
                line: self.events.len() + 1,
            }),
        }
    }
}

#[derive(Default)]
struct Reader<'h> {
    before: Option<&'h Event>,
    hosts: BTreeSet<Name>,
    clocks: BTreeSet<Name>,
}

impl Reader<'_> {
    fn place(&self, event: &Event, line: usize) -> Result<(), HistoryError> {
        if self
            .before
            .is_some_and(|before| matches!(before.what, What::End { .. }))
        {
            return Err(HistoryError::AfterEnd { line });
        }
        let expected = line as u64 - 2;
        if event.seq != expected {
            return Err(HistoryError::SequenceGap {
                line,
                expected,
                found: event.seq,
            });
        }
        match self.before {
            Some(before) if event.at < before.at => Err(HistoryError::TimeBackwards {
                line,
                before: before.at,
                found: event.at,
            }),
            _ => Ok(()),
        }
    }

    fn hosts(&mut self, event: &Event, line: usize) -> Result<(), HistoryError> {
        if let What::Host { host, .. } = &event.what {
            self.hosts.insert(host.clone());
        }
        match event
            .what
            .hosts()
            .into_iter()
            .find(|host| !self.hosts.contains(*host))
        {
            Some(host) => Err(HistoryError::UnknownHost {
                line,
                host: host.clone(),
            }),
            None => Ok(()),
        }
    }

    fn clocks(&mut self, event: &Event, line: usize) -> Result<(), HistoryError> {
        match &event.what {
            What::Clock { segment, .. } if segment.from != event.at => {
                Err(HistoryError::ClockElsewhere {
                    line,
                    at: event.at,
                    from: segment.from,
                })
            }
            What::Clock { host, .. } => {
                self.clocks.insert(host.clone());
                Ok(())
            }
            What::Acquired { client, .. } | What::Extended { client, .. }
                if !self.clocks.contains(client) =>
            {
                Err(HistoryError::NoClock {
                    line,
                    host: client.clone(),
                })
            }
            _ => Ok(()),
        }
    }
}

impl What {
    /// The hosts that the event names. The nodes of votes are not among them: a lock may call its nodes as it likes.
    #[must_use]
    pub fn hosts(&self) -> Vec<&Name> {
        match self {
            Self::CallBegun { client, .. }
            | Self::CallEnded { client, .. }
            | Self::AttemptBegun { client, .. }
            | Self::Acquired { client, .. }
            | Self::Extended { client, .. }
            | Self::Refused { client, .. }
            | Self::Lost { client, .. }
            | Self::Entered { client, .. }
            | Self::Left { client, .. }
            | Self::ReleaseCalled { client, .. }
            | Self::ReleaseEnded { client, .. }
            | Self::Finished { client } => vec![client],
            Self::Command {
                node,
                sender,
                creator,
                ..
            } => {
                let creator = creator.iter().map(|creator| &creator.client);
                [node].into_iter().chain(sender).chain(creator).collect()
            }
            Self::Registered {
                resource, client, ..
            }
            | Self::ReadApplied {
                resource, client, ..
            }
            | Self::WriteApplied {
                resource, client, ..
            }
            | Self::OperationRefused {
                resource, client, ..
            } => vec![resource, client],
            Self::Total { resource, .. } => vec![resource],
            Self::Promoted { node } => vec![node],
            Self::Demoted { node, of } => vec![node, of],
            Self::Host { host, .. }
            | Self::Clock { host, .. }
            | Self::Paused { host }
            | Self::Resumed { host }
            | Self::Crashed { host, .. }
            | Self::Started { host } => vec![host],
            Self::Cut { from, to, .. }
            | Self::Healed { from, to }
            | Self::Reset { from, to }
            | Self::Delayed { from, to, .. } => vec![from, to],
            Self::Fault { hosts, .. } => hosts.iter().collect(),
            Self::FaultEnded { .. } | Self::HealBegun {} | Self::End { .. } => Vec::new(),
        }
    }
}
