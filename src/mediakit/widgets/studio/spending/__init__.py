"""The studio's tab with the charges of the last days as a chart.

It depends on the dashboard, which reads the same sums.
"""
