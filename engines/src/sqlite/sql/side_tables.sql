-- side_tables: which tables beside `task` hold anything, in the order in which removal.rs names them.
SELECT EXISTS (SELECT 1 FROM large_parameters), EXISTS (SELECT 1 FROM checkpoint), EXISTS (SELECT 1 FROM failure),
       EXISTS (SELECT 1 FROM stranger), EXISTS (SELECT 1 FROM uniqueness), EXISTS (SELECT 1 FROM unique_key),
       EXISTS (SELECT 1 FROM weight), EXISTS (SELECT 1 FROM dependency), EXISTS (SELECT 1 FROM dependent),
       EXISTS (SELECT 1 FROM external_signal), EXISTS (SELECT 1 FROM parent)
