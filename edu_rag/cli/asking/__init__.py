"""`edu-rag ask` and `edu-rag try`: they connect the harness, which asks, with the builder, which finds pages."""
