package conversation

// Limits of what is held in memory.
const (
	MaxText   = 1 << 30 // bytes of one set
	MaxTokens = 1 << 22 // of one text
	MaxTurns  = 1 << 16 // of one conversation, and texts of one turn
	MaxCount  = 1 << 40 // of anything that takes no memory
)

// DefaultEntries is the number of conversations that are made when none is given.
const DefaultEntries = 100
