-- All moves of tasks: those that end, and those that go back.

-- include ends returns
