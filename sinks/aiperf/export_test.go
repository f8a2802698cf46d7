package aiperf

// Tree is the member input_config.
func (c InputConfig) Tree() ([]byte, error) { return c.json() }

// DatasetMembers is tested against AIPerf's schema.
func DatasetMembers(kind string) []string { return datasetMembers(kind) }

// ConfigOrder is tested against the schema.
func ConfigOrder(path string) []string { return configOrder(path) }
