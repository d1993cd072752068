-- Numbers of the one counter, scores, and commands with long lists.

-- include counter scores spread
