"""How near the search in spaces comes to the best, in every kind of space and set, against enumeration."""
