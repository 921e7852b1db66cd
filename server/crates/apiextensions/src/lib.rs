//! The third link: CustomResourceDefinitions.
