"""Errors, money, time, records, rates and markup: what everything stands on."""
