"""Tests of errors, money, time, records, rates and safe text."""
