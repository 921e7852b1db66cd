use apiwright_macros::Resource;

#[derive(Resource)]
struct Node {
    metadata: String,
}

fn main() {}
