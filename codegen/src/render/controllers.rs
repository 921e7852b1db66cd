//! `controllers/<name>.rs`: facts, the decision, the trait that Rust fills in, the examples as tests;
//! and in `mod.rs` the list of all.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::ir::{Controller, Example, Fact, Ir, KeyFrom, Watch};
use crate::render::format;
use crate::render::words::ident;

/// The modules of all controllers, and the static `CONTROLLERS`; nothing where there are none.
pub(super) fn modules(ir: &Ir) -> Vec<TokenStream> {
    if ir.controllers.is_empty() {
        return Vec::new();
    }
    let modules = ir.controllers.iter().map(|one| {
        let (doc, name) = (format!(" {}", one.doc), ident(&one.module));
        let file = format!("controllers/{}.rs", one.module);
        quote! {
            #[doc = #doc]
            pub mod #name { include!(#file); }
        }
    });
    let specs = ir.controllers.iter().map(|one| {
        let name = ident(&one.module);
        quote!(&controllers::#name::SPEC)
    });
    vec![
        quote! {
            /// The controllers' decision tables.
            pub mod controllers { #(#modules)* }
        },
        quote! {
            /// The controllers, by name.
            pub static CONTROLLERS: &[&::apiwright_controllers::ControllerSpec] = &[#(#specs),*];
        },
    ]
}

/// One controller's module.
pub(super) fn render(of: &Controller) -> String {
    let mut items: Vec<TokenStream> =
        of.facts.iter().filter(|fact| !fact.ident.is_empty()).map(fact).collect();
    items.push(facts(of));
    items.push(outcome(of));
    items.push(decide(of));
    items.push(controller(of));
    items.push(reconciler(of));
    items.push(spec(of));
    if !of.examples.is_empty() {
        items.push(examples(of));
    }
    format::file(items)
}

fn fact(of: &Fact) -> TokenStream {
    let doc = format!(" The fact `{}`.", of.name);
    let (name, values) = (ident(&of.ident), of.values.iter().map(|value| ident(value)));
    quote! {
        #[doc = #doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ::apiwright_macros::Fact)]
        pub enum #name { #(#values),* }
    }
}

fn facts(of: &Controller) -> TokenStream {
    let fields = of.facts.iter().map(|fact| {
        let (field, ty) = (ident(&fact.field), fact_type(fact));
        quote!(pub #field: #ty)
    });
    quote! {
        /// What is observed of one key.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ::apiwright_macros::Facts)]
        pub struct Facts { #(#fields),* }
    }
}

fn fact_type(of: &Fact) -> TokenStream {
    if of.ident.is_empty() {
        return quote!(bool);
    }
    let name = ident(&of.ident);
    quote!(#name)
}

fn outcome(of: &Controller) -> TokenStream {
    let variants = of.outcomes.iter().map(|one| {
        let (doc, name) = (format!(" {}", one.doc), ident(&one.ident));
        quote!(#[doc = #doc] #name)
    });
    quote! {
        /// What is to be done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ::apiwright_macros::Fact)]
        pub enum Outcome { #(#variants),* }
    }
}

/// The rules as they are written: the compiler proves once more that nothing is left out.
fn decide(of: &Controller) -> TokenStream {
    let fields = of.facts.iter().map(|fact| {
        let field = ident(&fact.field);
        quote!(facts.#field)
    });
    let arms = of.table.rules.iter().zip(&of.then).map(|(rule, then)| {
        let patterns = of.facts.iter().zip(rule).map(|(fact, wanted)| {
            let values: Vec<TokenStream> = match wanted {
                Some(wanted) => wanted.iter().map(|at| value(fact, *at)).collect(),
                None => (0..fact.values.len()).map(|at| value(fact, at)).collect(),
            };
            quote!(#(#values)|*)
        });
        let then = ident(&of.outcomes[*then].ident);
        quote!((#(#patterns,)*) => Outcome::#then)
    });
    quote! {
        /// What the facts call for: the first rule that fits.
        #[allow(unreachable_patterns, clippy::match_same_arms, clippy::unnested_or_patterns)]
        pub fn decide(facts: &Facts) -> Outcome {
            match (#(#fields,)*) { #(#arms,)* }
        }
    }
}

fn value(of: &Fact, at: usize) -> TokenStream {
    if of.ident.is_empty() {
        return if at == 0 { quote!(false) } else { quote!(true) };
    }
    let (name, value) = (ident(&of.ident), ident(&of.values[at]));
    quote!(#name::#value)
}

fn controller(of: &Controller) -> TokenStream {
    let methods = of.outcomes.iter().filter(|one| !one.method.is_empty()).map(|one| {
        let (doc, name) = (format!(" {}", one.doc), ident(&one.method));
        quote! {
            #[doc = #doc]
            fn #name(&self, key: &str, observed: Self::Observed)
                -> impl Future<Output = ::apiwright_controllers::Result<::apiwright_controllers::Next>> + Send;
        }
    });
    let keys = has_hook(of).then(|| {
        quote! {
            /// Adds the keys that a change of a watched resource is about.
            fn keys(&self, change: &::apiwright_controllers::Change<'_>, add: &mut dyn FnMut(&str));
        }
    });
    quote! {
        /// What Rust says: how things are, and what the outcomes do.
        pub trait Controller: Send + Sync + 'static {
            /// What was seen on the way to the facts; the outcomes work on it.
            type Observed: Send;
            /// How things are.
            fn observe(&self, key: &str)
                -> impl Future<Output = ::apiwright_controllers::Result<(Facts, Self::Observed)>> + Send;
            #(#methods)*
            #keys
        }
    }
}

fn has_hook(of: &Controller) -> bool {
    of.watches.iter().any(|watch| watch.from == KeyFrom::Hook)
}

fn reconciler(of: &Controller) -> TokenStream {
    let arms = of.outcomes.iter().map(|one| {
        let variant = ident(&one.ident);
        if one.method.is_empty() {
            return quote!(Outcome::#variant => Ok(::apiwright_controllers::Next::Done));
        }
        let method = ident(&one.method);
        quote!(Outcome::#variant => self.0.#method(key, observed).await)
    });
    let keys = if has_hook(of) { quote!(self.0.keys(change, add);) } else { quote!(let _ = (change, add);) };
    quote! {
        /// Observes, decides, acts.
        #[derive(Debug)]
        pub struct Reconciler<C>(pub C);

        impl<C: Controller> ::apiwright_controllers::Reconcile for Reconciler<C> {
            fn spec(&self) -> &'static ::apiwright_controllers::ControllerSpec {
                &SPEC
            }
            fn keys(&self, change: &::apiwright_controllers::Change<'_>, add: &mut dyn FnMut(&str)) {
                #keys
            }
            fn reconcile<'a>(&'a self, key: &'a str)
                -> ::apiwright_controllers::BoxFuture<'a, ::apiwright_controllers::Result<::apiwright_controllers::Next>>
            {
                Box::pin(async move {
                    #[allow(unused_variables)]
                    let (facts, observed) = self.0.observe(key).await?;
                    let outcome = decide(&facts);
                    ::apiwright_controllers::log_decision(&SPEC, key, &facts, outcome);
                    match outcome { #(#arms,)* }
                })
            }
            fn stand<'a>(&'a self, key: &'a str)
                -> ::apiwright_controllers::BoxFuture<'a, ::apiwright_controllers::Result<::apiwright_controllers::Standing>>
            {
                Box::pin(async move {
                    let (facts, _) = self.0.observe(key).await?;
                    Ok(::apiwright_controllers::Standing::of(&facts, decide(&facts)))
                })
            }
        }
    }
}

fn spec(of: &Controller) -> TokenStream {
    let Controller { name, doc, managed, aliases, key, after, .. } = of;
    let workers = Literal::u32_unsuffixed(of.workers);
    let (first, last) = (Literal::u64_unsuffixed(of.retry.0), Literal::u64_unsuffixed(of.retry.1));
    let watches = of.watches.iter().map(watch);
    let facts = of.facts.iter().map(|fact| {
        let (name, values) = (&fact.name, &fact.values);
        quote!(::apiwright_controllers::FactSpec { name: #name, values: &[#(#values),*] })
    });
    let rules = of.table.rules.iter().zip(&of.then).map(|(rule, then)| {
        let when = of.facts.iter().zip(rule).map(|(fact, wanted)| match wanted {
            None => quote!(&[]),
            Some(wanted) => {
                let names = wanted.iter().map(|at| &fact.values[*at]);
                quote!(&[#(#names),*])
            }
        });
        let then = &of.outcomes[*then].name;
        quote!(::apiwright_controllers::RuleSpec { when: &[#(#when),*], then: #then })
    });
    let outcomes = of.outcomes.iter().skip(1).map(|one| {
        let (name, doc) = (&one.name, &one.doc);
        quote!(::apiwright_controllers::OutcomeSpec { name: #name, doc: #doc })
    });
    quote! {
        /// The spec, for the runtime and for explanations.
        pub static SPEC: ::apiwright_controllers::ControllerSpec = ::apiwright_controllers::ControllerSpec {
            name: #name,
            doc: #doc,
            managed: #managed,
            aliases: &[#(#aliases),*],
            workers: #workers,
            key: #key,
            after: &[#(#after),*],
            retry_millis: (#first, #last),
            watches: &[#(#watches),*],
            facts: &[#(#facts),*],
            rules: &[#(#rules),*],
            outcomes: &[#(#outcomes),*],
        };
    }
}

fn watch(of: &Watch) -> TokenStream {
    let resource = match &of.resource {
        None => quote!(None),
        Some((group, version, plural)) => {
            quote!(Some(::apiwright_controllers::ResourceName { group: #group, version: #version, plural: #plural }))
        }
    };
    let from = match &of.from {
        KeyFrom::Object => quote!(Object),
        KeyFrom::Name => quote!(Name),
        KeyFrom::Namespace => quote!(Namespace),
        KeyFrom::Hook => quote!(Hook),
        KeyFrom::Always(key) => quote!(Always(#key)),
    };
    let only = of.only.as_ref().map_or_else(|| quote!(None), |only| quote!(Some(#only)));
    quote!(::apiwright_controllers::WatchSpec {
        resource: #resource,
        from: ::apiwright_controllers::KeyFrom::#from,
        only: #only,
    })
}

fn examples(of: &Controller) -> TokenStream {
    let tests = of.examples.iter().enumerate().map(|(at, one)| example(of, at, one));
    quote! {
        #[cfg(test)]
        mod examples {
            use super::*;
            #[allow(unused_imports)]
            use ::apiwright_controllers::Fact as _;
            #(#tests)*
        }
    }
}

/// What is not given may be anything: a loop over its values.
fn example(of: &Controller, at: usize, example: &Example) -> TokenStream {
    let name = ident(&format!("example_{}", at + 1));
    let fields = of.facts.iter().zip(&example.given).map(|(fact, given)| {
        let field = ident(&fact.field);
        match given {
            Some(given) => {
                let value = value(fact, *given);
                quote!(#field: #value)
            }
            None => quote!(#field),
        }
    });
    let then = ident(&of.outcomes[example.then].ident);
    let mut body = quote! {
        let facts = Facts { #(#fields),* };
        assert_eq!(decide(&facts), Outcome::#then, "{facts:?}");
    };
    for (fact, _) in of.facts.iter().zip(&example.given).filter(|(_, given)| given.is_none()) {
        let (field, ty) = (ident(&fact.field), fact_type(fact));
        body = quote!(for &#field in <#ty>::ALL { #body });
    }
    quote! {
        #[test]
        fn #name() { #body }
    }
}
