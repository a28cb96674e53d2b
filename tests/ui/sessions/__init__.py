"""Tests of ui/sessions."""
