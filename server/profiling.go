package server

import (
	"net/http"
	"net/http/pprof"
)

// profiling returns the paths of --profiling, the same as a kube-apiserver's. The index serves every profile without a
// handler of its own.
func profiling() []path {
	return []path{
		{"/debug/pprof", http.RedirectHandler("/debug/pprof/", http.StatusFound)},
		{"/debug/pprof/profile", http.HandlerFunc(pprof.Profile)},
		{"/debug/pprof/symbol", http.HandlerFunc(pprof.Symbol)},
		{"/debug/pprof/trace", http.HandlerFunc(pprof.Trace)},
		{"/debug/pprof/", http.HandlerFunc(pprof.Index)},
	}
}
