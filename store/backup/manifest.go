package backup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/kx-apiserver/kx/store/admin"
)

// format is the version of the archives that this package writes and reads.
const format = 1

// The parts that every archive has. The last one has the hashes of all others.
const (
	snapshotName = "etcd/snapshot.db"
	manifestName = "manifest.json"
	sumsName     = "SHA256SUMS"
)

// Manifest describes an archive.
type Manifest struct {
	// Format is the version of the archive's format.
	Format int       `json:"format"`
	Made   time.Time `json:"made"`
	KX     Version   `json:"kx"`
	Etcd   Etcd      `json:"etcd"`
	// Verified says that the snapshot was read back before the archive got its name, so Revision, Keys and Encryption
	// are exact. Otherwise they are etcd's of the moment before.
	Verified bool `json:"verified"`
	// Prefix begins the keys of the API server.
	Prefix string `json:"prefix"`
	// Encryption has the names of the keys that values need. The keys themselves are in no archive.
	Encryption []admin.NeededKey `json:"encryption,omitempty"`
	// Flags holds the flags with which kx serve was started, without those left at their defaults.
	Flags map[string][]string `json:"flags,omitempty"`
}

// Version is the program that made an archive.
type Version struct {
	Release    string `json:"release"`
	Commit     string `json:"commit,omitempty"`
	Kubernetes string `json:"kubernetes"`
}

// Etcd is the etcd that was saved.
type Etcd struct {
	Version  string `json:"version"`
	Cluster  string `json:"cluster"`
	Revision int64  `json:"revision"`
	Keys     int64  `json:"keys"`
	// Servers are the URLs of a cluster outside kx.
	Servers []string `json:"servers,omitempty"`
}

// External says that the etcd is a cluster outside kx.
func (m *Manifest) External() bool { return len(m.Etcd.Servers) > 0 }

func (m *Manifest) encode() ([]byte, error) {
	data, err := json.MarshalIndent(m, "", "  ")
	return append(data, '\n'), err
}

// decodeManifest refuses what encode would write otherwise.
func decodeManifest(data []byte) (*Manifest, error) {
	// A later format may have other fields: its number counts first.
	var first struct{ Format int }
	if err := json.Unmarshal(data, &first); err != nil {
		return nil, fmt.Errorf("its %s can't be read: %w", manifestName, err)
	}
	if first.Format > format {
		return nil, fmt.Errorf("%w: its format is %d, and this kx reads %d", errNewer, first.Format, format)
	}
	m := &Manifest{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("its %s can't be read: %w", manifestName, err)
	}
	if again, err := m.encode(); err != nil || !bytes.Equal(again, data) || m.Format != format {
		return nil, fmt.Errorf("its %s is not as kx writes it", manifestName)
	}
	return m, nil
}

// errNewer marks archives that this kx is too old for.
var errNewer = errors.New("a newer kx made it")

// release is the form of releases that can be compared: a kx that was built from a tree has another.
var release = regexp.MustCompile(`^v?\d+\.\d+\.\d+`)

// checkVersion refuses archives of a newer kx than here: it may store what this one can't read.
func (m *Manifest) checkVersion(here Version) error {
	if newer(m.KX.Release, here.Release) {
		return fmt.Errorf("%w: kx %s, and this is %s", errNewer, m.KX.Release, here.Release)
	}
	theirs, err := utilversion.ParseGeneric(m.KX.Kubernetes)
	if err != nil {
		return fmt.Errorf("its %s has no version of Kubernetes", manifestName)
	}
	ours := utilversion.MustParseGeneric(here.Kubernetes)
	if theirs.Major() > ours.Major() || theirs.Major() == ours.Major() && theirs.Minor() > ours.Minor() {
		return fmt.Errorf("%w: it stores objects as Kubernetes %d.%d, and this one as %d.%d",
			errNewer, theirs.Major(), theirs.Minor(), ours.Major(), ours.Minor())
	}
	return nil
}

// newer compares releases. One that is no version, as that of a kx built from a tree, is not newer.
func newer(theirs, here string) bool {
	if !release.MatchString(theirs) || !release.MatchString(here) {
		return false
	}
	a, errA := utilversion.ParseSemantic(theirs)
	b, errB := utilversion.ParseSemantic(here)
	return errA == nil && errB == nil && b.LessThan(a)
}
