"""Validates requests: plain values, job inputs, uploads and prices.

It depends on `jobs`, because a job's result may be an input of another request.
"""
