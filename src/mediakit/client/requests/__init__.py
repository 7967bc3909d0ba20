"""From what people wrote to a validated request: values, inputs, uploads and prices.

It depends on `jobs`, because a job's result may be the input of the next request.
"""
