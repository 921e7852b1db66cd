use apiwright_macros::Fact;

#[derive(Fact, Clone, Copy, PartialEq, Eq)]
enum Current {
    Absent,
    Present(u8),
}

fn main() {}
