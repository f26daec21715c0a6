"""Free text: the rules and the judges that grade it, and how a judge is audited."""
