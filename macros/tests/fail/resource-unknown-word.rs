use apiwright_macros::Resource;

#[derive(Resource)]
#[resource(version = "v1", plurals = "nodes")]
struct Node {
    metadata: String,
}

fn main() {}
