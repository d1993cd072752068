-- all_gate_sweeps: the queues whose gates are looked at anew.
SELECT queue FROM gate_sweep
