"""One question, several systems: what `edu-rag ask` and `edu-rag try` ask, how it is answered, what visitors say."""
