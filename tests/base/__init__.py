"""Errors, money, time, records, rates and safe text: what everything stands on."""
