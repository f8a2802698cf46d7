package plugin

import "context"

type hostKey struct{}

// WithHost lets what is done in ctx run plug-ins as h allows. Without it none runs.
func WithHost(ctx context.Context, h Host) context.Context {
	return context.WithValue(ctx, hostKey{}, h)
}

// HostOf is who runs plug-ins in ctx.
func HostOf(ctx context.Context) Host {
	h, _ := ctx.Value(hostKey{}).(Host)
	return h
}
