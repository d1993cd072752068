-- all_draining: the workers that are to claim nothing more, and since when.
SELECT worker, since FROM draining
