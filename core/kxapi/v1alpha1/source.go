package v1alpha1

import (
	"path"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Source is a file of the server's own source, as it was compiled into this server. Its name is the file's path with
// dots for slashes, such as store.etcd3.update.go.
type Source struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. There is no resourceVersion: a server's source does not change while it runs.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The file.
	Spec SourceSpec `json:"spec"`
}

// SourceSpec is one file.
type SourceSpec struct {
	// The package, from the module's root, such as store/etcd3: what functions' names begin with in journeys.
	Package string `json:"package"`
	// The file, as journeys name it, such as store/etcd3/update.go.
	File string `json:"file"`
	// How many lines it has.
	Lines int32 `json:"lines"`
	// The contents. Lists leave them out.
	// +optional
	Text string `json:"text,omitempty"`
}

// SourceList is a list of files, in the order of their paths.
type SourceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// +listType=atomic
	Items []Source `json:"items"`
}

// SourceName returns the name of a file's Source. file is the path in a step or a mark. The name is empty for files
// outside of the module, which have an absolute path.
func SourceName(file string) string {
	if file == "" || path.IsAbs(file) || path.Clean(file) != file || strings.HasPrefix(file, "..") || strings.ContainsAny(file, `:\`) {
		return ""
	}
	return strings.ReplaceAll(file, "/", ".")
}

// OpenAPIModelName returns the name of the type's definition.
func (Source) OpenAPIModelName() string     { return "dev.kx.v1alpha1.Source" }
func (SourceList) OpenAPIModelName() string { return "dev.kx.v1alpha1.SourceList" }
func (SourceSpec) OpenAPIModelName() string { return "dev.kx.v1alpha1.SourceSpec" }
