//! `apiwright explain`: what controllers decide, and against a running server how everything stands.
//!
//! The tables are compiled in; how objects stand, the running server says, over its API and by its
//! administrator's kubeconfig.

use std::path::{Path, PathBuf};

use apiwright_controllers::{ControllerSpec, explain};
use apiwright_json::{Object, Value};
use apiwright_webhook::Access;
use clap::{Parser, Subcommand};

use crate::client;
use crate::controllers::page::PATH;
use crate::generated::CONTROLLERS;

/// The longest answer that is read.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// What is to be explained, as the command line has it.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "apiwright explain",
    about = "Explains what controllers decide.",
    disable_help_subcommand = true
)]
pub struct Command {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, Subcommand)]
enum What {
    /// Lists the controllers.
    Controllers,
    /// Shows a controller's decision table and, where a server runs, how each object stands.
    ///
    /// A running server is found by its data directory, or by a kubeconfig. Whoever the kubeconfig is for needs to
    /// `get` the non-resource URL /apiwright/controllers/NAME.
    Controller {
        /// Its name, or an alias.
        name: String,
        /// The server's data directory.
        #[arg(long, value_name = "DIR")]
        data_dir: Option<PathBuf>,
        /// Asks the server that this file names.
        #[arg(long, value_name = "FILE", conflicts_with = "data_dir")]
        kubeconfig: Option<PathBuf>,
    },
}

impl Command {
    /// Does it; gives what to print.
    ///
    /// # Errors
    /// One line about what is wrong.
    pub async fn run(self) -> Result<String, String> {
        match self.what {
            What::Controllers => Ok(list()),
            What::Controller { name, data_dir, kubeconfig } => {
                let spec = find(&name)?;
                let mut out = explain::table(spec);
                let asked = kubeconfig.or_else(|| data_dir.map(|dir| dir.join("kubeconfig")));
                match asked {
                    Some(kubeconfig) => out.push_str(&stands(spec, &kubeconfig).await?),
                    // Nobody asked for it: it is told where it is easily had.
                    None => out.push_str(
                        &stands(spec, Path::new(".apiwright/kubeconfig")).await.unwrap_or_default(),
                    ),
                }
                Ok(out)
            }
        }
    }
}

fn find(name: &str) -> Result<&'static ControllerSpec, String> {
    let found = CONTROLLERS.iter().find(|spec| spec.name == name || spec.aliases.contains(&name));
    found
        .copied()
        .ok_or_else(|| format!("there is no controller {name:?}; `apiwright explain controllers` lists them"))
}

fn list() -> String {
    let rows: Vec<Vec<String>> =
        CONTROLLERS.iter().map(|spec| vec![spec.name.to_owned(), spec.doc.to_owned()]).collect();
    let mut out = String::new();
    explain::rows_of(&mut out, &rows);
    out
}

/// How each key stands on a running server.
async fn stands(spec: &ControllerSpec, kubeconfig: &Path) -> Result<String, String> {
    let access = Access::read(kubeconfig)?;
    let mut pieces = client::get(&access, &format!("{PATH}/{}", spec.name)).await?;
    let mut answer = Vec::new();
    while let Some(piece) = pieces.next().await? {
        answer.extend_from_slice(&piece);
        if answer.len() > ANSWER_BYTES_MAX {
            return Err("the answer is too long".into());
        }
    }
    let (answer, _) =
        apiwright_json::decode(&answer).map_err(|why| format!("the answer is no JSON: {}", why.message))?;
    Ok(shown(spec, &answer))
}

fn shown(spec: &ControllerSpec, answer: &Value) -> String {
    let mut heading: Vec<String> = vec!["key".into()];
    heading.extend(spec.facts.iter().map(|fact| fact.name.to_owned()));
    heading.extend(["then".into(), "failures".into()]);
    let mut rows = vec![heading];
    for one in answer.get("keys").and_then(Value::as_array).into_iter().flatten() {
        let mut row = vec![one.text_at(&["key"]).to_owned()];
        let facts = one.get("facts").and_then(Value::as_object);
        let mut facts = facts.into_iter().flat_map(Object::iter);
        row.extend(
            spec.facts
                .iter()
                .map(|_| facts.next().and_then(|(_, value)| value.as_str()).unwrap_or("?").to_owned()),
        );
        let error = one.text_at(&["error"]);
        row.push(if error.is_empty() { one.text_at(&["outcome"]).to_owned() } else { format!("({error})") });
        row.push(one.get("failures").and_then(Value::as_i64).unwrap_or_default().to_string());
        rows.push(row);
    }
    let state = answer.text_at(&["state"]);
    let mut out = format!("\nOn {}: {state}\n\n", answer.text_at(&["server"]));
    explain::rows_of(&mut out, &rows);
    if let Some(more) = answer.get("more").and_then(Value::as_i64).filter(|more| *more > 0) {
        out.push_str(&format!("and {more} more\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_are_found_by_any_name() {
        assert_eq!(find("namespace").map(|spec| spec.name), Ok("namespace-controller"));
        assert!(find("frobnicate").is_err());
        assert_eq!(list().lines().count(), CONTROLLERS.len());
    }

    #[test]
    fn how_objects_stand() {
        let spec = find("namespace").unwrap();
        let answer = r#"{"server":"here","state":"at work","more":2,"keys":[
            {"key":"a","facts":{"namespace":"Active","marked":"false","held":"true","pods":"None","others":"None"},"outcome":"nothing","failures":0},
            {"key":"b","error":"broken","failures":3}]}"#;
        let answer = apiwright_json::decode(answer.as_bytes()).unwrap().0;
        let want = "
On here: at work

key  namespace  marked  held  pods  others  then      failures
a    Active     false   true  None  None    nothing   0
b    ?          ?       ?     ?     ?       (broken)  3
and 2 more
";
        assert_eq!(shown(spec, &answer), want);
    }
}
