-- all_roles: the roles and the queues they serve.
SELECT name, queues, config FROM role
