"""Skills in the open SKILL.md format: parsing, discovery on disk, versions, import and export.

Offering skills to a run belongs to `core.engine`; the tables of skills belong to `core.store`.
"""
