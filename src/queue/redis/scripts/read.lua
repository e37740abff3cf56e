-- read: the room as it is. Changes nothing.
-- Answer: {'OK', snapshot}.
local no = refuse()
if no then return no end
return { 'OK', snapshot() }
