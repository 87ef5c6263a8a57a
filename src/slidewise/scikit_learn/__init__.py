"""A definition in pipelines of scikit-learn, which is imported here and nowhere else."""
