package datadir

import (
	"fmt"

	etcdversion "go.etcd.io/etcd/api/v3/version"
	utilversion "k8s.io/apimachinery/pkg/util/version"
)

// CheckVersion refuses files of a newer etcd than the one in this program.
func CheckVersion(version string) error {
	if version == "" {
		return nil
	}
	theirs, err := utilversion.ParseGeneric(version)
	if err != nil {
		return fmt.Errorf("its storage version %q is none of etcd's", version)
	}
	here := utilversion.MustParseGeneric(etcdversion.Version)
	if theirs.Major() > here.Major() || theirs.Major() == here.Major() && theirs.Minor() > here.Minor() {
		return fmt.Errorf("it is of etcd %s, and the etcd in this kx is %d.%d: use a newer kx", version, here.Major(), here.Minor())
	}
	return nil
}
