"""Parts that all our HTML pages share: texts, links, bars, colours, templates."""
