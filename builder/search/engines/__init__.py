"""The engines that edu-rag brings, a module each; `builder.search.ENGINES` names them."""
