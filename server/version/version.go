// Package version says which kx this is, and which Kubernetes it speaks.
//
// What a release stamps in comes by linker flags; what the Kubernetes libraries' version is comes from the build info
// that Go puts into every binary. Clients decide by the version what a server can do, so it is that of the libraries.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	apiversion "k8s.io/apimachinery/pkg/version"
)

// Stamped in by a release.
var (
	Release = "devel"
	Commit  = ""
	Date    = ""
)

// Kubernetes is the version whose API the server speaks.
const (
	KubernetesMajor = "1"
	KubernetesMinor = "37"
)

// libraries is the module whose version tells that of Kubernetes: v0.37.2 is 1.37.2.
const libraries = "k8s.io/apimachinery"

// Info is what /version answers.
var Info = sync.OnceValue(func() apiversion.Info {
	patch := "0"
	build, ok := debug.ReadBuildInfo()
	if ok {
		for _, m := range build.Deps {
			if m.Path == libraries {
				if p := strings.Split(m.Version, "."); len(p) == 3 && p[0] == "v0" && p[1] == KubernetesMinor {
					patch = p[2]
				}
			}
		}
	}
	commit, date, tree := Commit, Date, "clean"
	if ok {
		for _, s := range build.Settings {
			switch {
			case s.Key == "vcs.revision" && commit == "":
				commit = s.Value
			case s.Key == "vcs.time" && date == "":
				date = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				tree = "dirty"
			}
		}
	}
	return apiversion.Info{
		Major:        KubernetesMajor,
		Minor:        KubernetesMinor,
		GitVersion:   fmt.Sprintf("v%s.%s.%s+kx", KubernetesMajor, KubernetesMinor, patch),
		GitCommit:    commit,
		GitTreeState: tree,
		BuildDate:    date,
		GoVersion:    runtime.Version(),
		Compiler:     runtime.Compiler,
		Platform:     runtime.GOOS + "/" + runtime.GOARCH,
	}
})
