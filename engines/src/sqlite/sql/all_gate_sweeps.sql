-- all_gate_sweeps: the queues whose gates are being checked again.
SELECT queue FROM gate_sweep
