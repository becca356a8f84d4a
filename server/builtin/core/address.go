package core

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/kx-apiserver/kx/server/builtin"
)

// reachable requires an address that is reachable beyond its own host and network segment.
func reachable(address string, path *field.Path) field.ErrorList {
	if netutils.ParseIPSloppy(address) == nil {
		return field.ErrorList{field.Invalid(path, address, "must be a valid IP address")}
	}
	return builtin.Invalids(path, address, builtin.SpecialIP(address))
}
