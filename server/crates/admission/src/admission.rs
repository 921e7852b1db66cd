//! The plugins that run, in order.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use apiwright_json::Value;
use apiwright_meta::status::Result;

use crate::attributes::Attributes;
use crate::figures::{self, Durations, Step};
use crate::plugin::Plugin;

/// The plugins of a server, in the order in which they run.
#[derive(Clone, Default)]
pub struct Admission {
    plugins: Vec<(Arc<dyn Plugin>, Arc<Durations>)>,
    steps: Arc<Durations>,
}

/// Why plugins cannot be chosen as an operator asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChoiceError {
    /// A flag names a plugin that there is not.
    Unknown {
        /// The flag, without dashes.
        flag: &'static str,
        /// The name.
        name: String,
    },
    /// Both flags name a plugin.
    Both(String),
    /// The order names a plugin that nobody brought.
    Missing(String),
}

impl Admission {
    /// Chooses and orders plugins: `order` has each name and whether it runs unless told
    /// otherwise, `enable` and `disable` are the flags' lists.
    ///
    /// # Errors
    /// Where a name is not known, or both flags have it.
    pub fn choose<'a>(
        available: impl IntoIterator<Item = Arc<dyn Plugin>>,
        order: impl IntoIterator<Item = (&'a str, bool)>,
        enable: &[String],
        disable: &[String],
    ) -> std::result::Result<Self, ChoiceError> {
        let available: Vec<Arc<dyn Plugin>> = available.into_iter().collect();
        let order: Vec<(&str, bool)> = order.into_iter().collect();
        let known: BTreeSet<&str> = order.iter().map(|(name, _)| *name).collect();
        for (flag, names) in [("enable-admission-plugins", enable), ("disable-admission-plugins", disable)] {
            if let Some(name) = names.iter().find(|name| !known.contains(name.as_str())) {
                return Err(ChoiceError::Unknown { flag, name: name.clone() });
            }
        }
        if let Some(name) = enable.iter().find(|name| disable.contains(name)) {
            return Err(ChoiceError::Both(name.clone()));
        }
        let named = |list: &[String], name: &str| list.iter().any(|one| one == name);
        let mut plugins = Vec::new();
        for (name, default) in order {
            if named(enable, name) || (default && !named(disable, name)) {
                let plugin = available.iter().find(|plugin| plugin.name() == name);
                plugins.push(Arc::clone(plugin.ok_or_else(|| ChoiceError::Missing(name.to_owned()))?));
            }
        }
        Ok(Self::of(plugins))
    }

    /// These plugins in this order.
    pub fn of(plugins: Vec<Arc<dyn Plugin>>) -> Self {
        let plugins = plugins.into_iter().map(|plugin| (plugin, Arc::default())).collect();
        Self { plugins, steps: Arc::default() }
    }

    /// These plugins and one more, after them.
    #[must_use]
    pub fn and(mut self, plugin: Arc<dyn Plugin>) -> Self {
        self.plugins.push((plugin, Arc::default()));
        self
    }

    /// Whether nobody is asked.
    pub fn is_empty(&self) -> bool {
        self.plugins.is_empty()
    }

    /// The names of the plugins that run.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.plugins.iter().map(|(plugin, _)| plugin.name())
    }

    /// Lets every plugin change the object of a request; again, where what is configured has changed it.
    ///
    /// # Errors
    /// The first refusal.
    pub async fn mutate(
        &self,
        request: &Attributes<'_>,
        mut object: Option<&mut Value>,
        old: Option<&Value>,
    ) -> Result<()> {
        let begun = Instant::now();
        let mut admitted = self.turn(request, object.as_deref_mut(), old).await;
        if admitted.is_ok() && request.reinvocation.begin_second() {
            admitted = self.turn(request, object, old).await;
        }
        self.steps.count(request.operation, Step::Admit, admitted.is_err(), begun);
        admitted
    }

    async fn turn(
        &self,
        request: &Attributes<'_>,
        mut object: Option<&mut Value>,
        old: Option<&Value>,
    ) -> Result<()> {
        for (plugin, durations) in self.plugins.iter().filter(|(plugin, _)| plugin.concerns(request)) {
            let begun = Instant::now();
            let admitted = plugin.mutate(request, object.as_deref_mut(), old).await;
            durations.count(request.operation, Step::Admit, admitted.is_err(), begun);
            admitted?;
        }
        Ok(())
    }

    /// Asks every plugin whether what is about to happen may.
    ///
    /// # Errors
    /// The first refusal.
    pub async fn validate(
        &self,
        request: &Attributes<'_>,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<()> {
        let begun = Instant::now();
        let admitted = self.look(request, object, old).await;
        self.steps.count(request.operation, Step::Validate, admitted.is_err(), begun);
        admitted
    }

    async fn look(
        &self,
        request: &Attributes<'_>,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<()> {
        for (plugin, durations) in self.plugins.iter().filter(|(plugin, _)| plugin.concerns(request)) {
            let begun = Instant::now();
            let admitted = plugin.validate(request, object, old).await;
            durations.count(request.operation, Step::Validate, admitted.is_err(), begun);
            admitted?;
        }
        Ok(())
    }

    /// Appends how long it took, in Prometheus' text format.
    pub fn render_metrics(&self, out: &mut String) {
        let plugins = self.plugins.iter().map(|(plugin, durations)| (plugin.name(), &**durations));
        figures::render(out, plugins, &self.steps);
    }
}

impl std::fmt::Debug for Admission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl std::error::Error for ChoiceError {}

impl std::fmt::Display for ChoiceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown { flag, name } => write!(f, "{flag} plugin \"{name}\" is unknown"),
            Self::Both(name) => {
                write!(f, "[{name}] in enable-admission-plugins and disable-admission-plugins overlapped")
            }
            Self::Missing(name) => write!(f, "admission plugin \"{name}\" is not compiled in"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(&'static str);

    impl Plugin for Named {
        fn name(&self) -> &'static str {
            self.0
        }

        fn concerns(&self, _: &Attributes<'_>) -> bool {
            false
        }
    }

    #[test]
    fn flags_choose_plugins() {
        let order = [("A", true), ("B", false), ("C", true)];
        for (enable, disable, want) in [
            ("", "", Ok("A,C")),
            ("B", "", Ok("A,B,C")),
            ("B", "A,C", Ok("B")),
            ("X", "", Err("enable-admission-plugins plugin \"X\" is unknown")),
            ("", "Y", Err("disable-admission-plugins plugin \"Y\" is unknown")),
            ("A", "A", Err("[A] in enable-admission-plugins and disable-admission-plugins overlapped")),
        ] {
            let list = |text: &str| {
                text.split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect::<Vec<_>>()
            };
            let available = ["C", "B", "A"].map(|name| Arc::new(Named(name)) as Arc<dyn Plugin>);
            let chosen = Admission::choose(available, order, &list(enable), &list(disable));
            let shown = chosen
                .map(|chain| chain.names().collect::<Vec<_>>().join(","))
                .map_err(|error| error.to_string());
            assert_eq!(shown, want.map(str::to_owned).map_err(str::to_owned));
        }
    }
}
