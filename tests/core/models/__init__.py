"""Tests of core/models: providers, API formats and scripted models."""
