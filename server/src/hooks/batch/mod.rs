//! The batch group.

mod cron_job;
mod job;
mod schedule;

pub use cron_job::CronJob;
pub use job::Job;
