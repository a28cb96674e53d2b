"""The tools that a model can call: their parameters, descriptions and implementations.

Which calls need approval, and the order in which calls run, is decided in core/engine.
"""
