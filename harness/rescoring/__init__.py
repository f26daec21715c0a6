"""Score all results again, verify that every number can be reproduced, and run systems again."""
