-- Names, time, and reading records. A script that is called often includes these pieces where it needs them.

-- include time records
