"""Small tasks for real models: how well an agent does with one, and what it costs."""
