package aiperf

// Tree is the member input_config.
func (c InputConfig) Tree() ([]byte, error) { return c.json() }
