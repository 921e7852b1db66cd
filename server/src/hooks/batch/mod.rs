//! The batch group.

mod cron_job;
mod job;

pub use cron_job::CronJob;
pub use job::Job;
