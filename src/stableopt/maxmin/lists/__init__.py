"""Max-min on finite domains: exact, by the structure of domain and set."""
