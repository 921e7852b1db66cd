use apiwright_macros::Resource;

#[derive(Resource)]
#[resource(version = "v1")]
struct Node {
    metadata: String,
}

fn main() {}
