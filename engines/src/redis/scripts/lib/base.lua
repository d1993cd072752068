-- Names, time, and how records are read. A script that is called often includes the pieces it needs where it needs them.

-- include time records
