//! Expressions that select devices.

use std::sync::{Arc, LazyLock};

use apiwright_cel::decl::Shape;
use apiwright_cel::{Decl, Env, Type, types};
use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path};
use apiwright_policy::shown;

/// How long an expression is at most.
const EXPRESSION_BYTES_MAX: usize = 10 * 1024;
/// How much one may cost on one device.
const COST_MAX: u64 = 1_000_000;
/// How many attributes and capacities a device has at most.
const NAMES_MAX: u64 = 32;

/// What expressions may name: `device`, with what its driver says of it, by domain and name.
static DEVICE: LazyLock<Env> = LazyLock::new(|| {
    let by_name = |value: Arc<Decl>| bounded(bounded(value));
    let device = Decl::object(
        "kubernetes.DRADevice",
        vec![
            ("driver", Decl::string()),
            ("allowMultipleAllocations", Decl::bool()),
            ("attributes", by_name(Decl::dynamic())),
            ("capacity", by_name(Decl::of_type(types::QUANTITY))),
        ],
    );
    Env::new().with_decl("device", &device)
});

/// The faults of what `cel` says; what is stored was cheap enough once, and compiles.
pub(super) fn faults(cel: &Value, stored: bool, path: &Path, errors: &mut ErrorList) {
    let (text, path) = (cel.text_at(&["expression"]), path.child("expression"));
    if text.len() > EXPRESSION_BYTES_MAX {
        errors.too_long(path, EXPRESSION_BYTES_MAX);
        return;
    }
    if stored {
        return;
    }
    let program = match DEVICE.compile(text) {
        Ok(program) => program,
        Err(issues) => {
            errors.invalid(path, quoted(text), &format!("compilation failed: {issues}"));
            return;
        }
    };
    if !matches!(program.ty(), Type::Bool | Type::Dyn) {
        let why = format!("must evaluate to bool or the unknown type, not {}", shown(program.ty()));
        errors.invalid(path, quoted(text), &why);
    } else if program.cost_max() > COST_MAX {
        errors.forbidden(path, "too complex, exceeds cost limit");
    }
}

/// A map of no more values than a device has names.
fn bounded(value: Arc<Decl>) -> Arc<Decl> {
    let ty = Type::map(Type::String, value.ty.clone());
    Arc::new(Decl { shape: Shape::Map(value), ty, nullable: false, elements_max: NAMES_MAX, bytes_min: 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_expressions() {
        let table = [
            ("device.driver == 'gpu.example.com'", String::new()),
            ("device.attributes['gpu.example.com'].model == 'a'", String::new()),
            ("device.attributes['gpu.example.com'].fine", String::new()),
            ("device.capacity['gpu.example.com'].memory.compareTo(quantity('1Gi')) >= 0", String::new()),
            ("device.allowMultipleAllocations", String::new()),
            (
                "device.driver",
                "Invalid value: \"device.driver\": must evaluate to bool or the unknown type, not string"
                    .into(),
            ),
            ("5", "Invalid value: \"5\": must evaluate to bool or the unknown type, not int".into()),
            (
                "device.capacity.all(a, device.capacity.all(b, device.capacity.all(c, device.capacity.all(d, \
                 device.capacity.all(e, a + b + c + d + e == '')))))",
                "Forbidden: too complex, exceeds cost limit".into(),
            ),
        ];
        for (text, expected) in table {
            let cel = apiwright_json::Object::from_iter([("expression", text)]).into();
            let mut errors = ErrorList::new();
            faults(&cel, false, &Path::new("p"), &mut errors);
            let expected =
                if expected.is_empty() { "[]".into() } else { format!("p.expression: {expected}") };
            assert_eq!(errors.aggregate(), expected, "{text}");
        }
    }
}
