-- latest_operation: the id of the operation that began last.
SELECT max(id) FROM operation
