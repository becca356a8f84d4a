package server

import (
	"net/http"
	"net/http/pprof"
)

// profiling are the paths of --profiling, as in the Kubernetes API server. The index serves all profiles that have no handler of
// their own.
func profiling() []path {
	return []path{
		{"/debug/pprof", http.RedirectHandler("/debug/pprof/", http.StatusFound)},
		{"/debug/pprof/profile", http.HandlerFunc(pprof.Profile)},
		{"/debug/pprof/symbol", http.HandlerFunc(pprof.Symbol)},
		{"/debug/pprof/trace", http.HandlerFunc(pprof.Trace)},
		{"/debug/pprof/", http.HandlerFunc(pprof.Index)},
	}
}
