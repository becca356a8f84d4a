// Package options turns the flags of kx serve into the configuration of a server.
//
// It owns the flags' names (the Kubernetes API server's wherever that has the flag), their defaults and their
// validation. What comes in is a flag set; what goes out is [Options] that have passed [Options.Validate]. It opens
// nothing.
package options
