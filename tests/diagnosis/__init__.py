"""Tests of `mk.doctor()`."""
