"""Questions + the web -> a versioned dataset folder."""
