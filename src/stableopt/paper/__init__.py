"""The paper's experiments, what verifies its theory, and the demonstration."""
