// Package endpoints is the resource endpoints: the addresses behind a service, in the form that endpoint slices replaced.
package endpoints
