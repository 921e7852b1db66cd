//! TLS, HTTP/1.1 and HTTP/2, connection draining.
