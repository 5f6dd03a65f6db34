"""The search in continuous and mixed domains: a scan, an ascent, and an exchange of worst cases."""
