"""The kinds of pages that a site has: each module turns an edition into parts, and knows no other kind."""
