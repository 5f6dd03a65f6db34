"""The front door, in the user's words: `maximize`, `minimize`, `assess`, and what they return."""
