// Package version holds the version of kx, and the version of Kubernetes that it serves.
//
// A release sets its own by linker flags. The version of the Kubernetes libraries comes from the build info
// that Go adds to every binary. Clients conclude from the version what a server can do, so /version reports
// that of the libraries.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	apiversion "k8s.io/apimachinery/pkg/version"
)

// Set by a release.
var (
	Release = "devel"
	Commit  = ""
	Date    = ""
)

// The Kubernetes version of the served API.
const (
	KubernetesMajor = "1"
	KubernetesMinor = "37"
)

// libraries is the module whose version determines that of Kubernetes: v0.37.2 is 1.37.2.
const libraries = "k8s.io/apimachinery"

// Info returns the answer of /version.
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
