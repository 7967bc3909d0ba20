"""Tests of spend: reports, totals and their agreement."""
