"""What tests of this package, and of programs that use it, share."""
