"""Creation and cloning of graphs."""
