"""The Compare page, which shows two sessions side by side. The steps are aligned in `core/timeline`."""
