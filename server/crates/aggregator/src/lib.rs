//! The head of the chain: APIServices.
