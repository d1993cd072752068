-- count_workflows: how many runs there are by state.
SELECT state, count(*) FROM workflow GROUP BY state
