"""What the rest takes from the machine: time, ids, limits, and the fault points of the tests."""
