"""What every other room uses and none of them owns: arrays, values that can be written as JSON, checks of arguments."""
