//! YAML from and to [`Value`], as sigs.k8s.io/yaml has it.
