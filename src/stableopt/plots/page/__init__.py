"""One page that tells all about a result: a single HTML file that needs no network."""
