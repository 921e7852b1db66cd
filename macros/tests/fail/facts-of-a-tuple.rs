use apiwright_macros::Facts;

#[derive(Facts)]
struct Observed(bool);

fn main() {}
