"""Tests of running a job: inputs, prices, rendering and retention."""
