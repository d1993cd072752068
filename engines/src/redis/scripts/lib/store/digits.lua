-- Making a text of a number costs as much as a command, so the last digits of a task's number are cut from this one.

local THREE = @digits.three
