package schema

var options = []Option{}
