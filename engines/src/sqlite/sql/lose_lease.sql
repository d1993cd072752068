-- lose_lease: notes what the loss of its worker means for a started task. Behind the gate `!` it is a ready suspect.
-- ?1 key  ?2 blames to add  ?3 suspicion
UPDATE task SET crashes = crashes + 1, blames = blames + ?2, suspicion = ?3, gate = '!' WHERE key = ?1
