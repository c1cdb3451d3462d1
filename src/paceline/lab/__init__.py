"""Cluster in, real processes on one machine out, with that cluster's speeds, links and faults.

The lab reads the same Cluster that the planner plans on, and tells nobody else what it does.
"""
