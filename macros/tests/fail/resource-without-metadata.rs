use apiwright_macros::Resource;

#[derive(Resource)]
#[resource(version = "v1", plural = "nodes")]
struct Node {
    spec: String,
}

fn main() {}
