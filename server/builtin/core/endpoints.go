//lint:file-ignore SA1019 Endpoints are deprecated, and a server has them all the same.

package core

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// Endpoints is the resource endpoints: the addresses behind a service, in the form before endpoint slices.
var Endpoints = builtin.Resource[*corev1.Endpoints]{
	Names:          builtin.Names{Plural: "endpoints", Singular: "endpoints", Short: []string{"ep"}},
	List:           &corev1.EndpointsList{},
	Stored:         corev1.SchemeGroupVersion,
	Default:        setEndpointsDefaults,
	Validate:       func(e *corev1.Endpoints) field.ErrorList { return validateEndpoints(e, nil) },
	ValidateUpdate: validateEndpointsUpdate,
	Warnings:       endpointsWarnings,
	CreateOnUpdate: true,
	Sample: `
subsets:
- addresses: [{ip: 10.1.2.3}]
  ports: [{name: http, port: 8080}]`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Endpoints", Type: "string", Description: corev1.Endpoints{}.SwaggerDoc()["subsets"]},
		builtin.AgeColumn,
	},
	Row: func(e *corev1.Endpoints) metav1.TableRow {
		return builtin.Row(e.Name, addresses(e), builtin.Age(e.CreationTimestamp))
	},
}

func setEndpointsDefaults(e *corev1.Endpoints) {
	for _, subset := range e.Subsets {
		for i := range subset.Ports {
			if subset.Ports[i].Protocol == "" {
				subset.Ports[i].Protocol = corev1.ProtocolTCP
			}
		}
	}
}

// maxShown limits the addresses in a cell.
const maxShown = 3

// addresses returns the first ready addresses with their ports, and the number of further ones.
func addresses(e *corev1.Endpoints) string {
	if len(e.Subsets) == 0 {
		return "<none>"
	}
	var shown []string
	count := 0
	add := func(address string) {
		if count++; count <= maxShown {
			shown = append(shown, address)
		}
	}
	for _, subset := range e.Subsets {
		if len(subset.Ports) == 0 {
			for _, address := range subset.Addresses {
				add(address.IP)
			}
		}
		for _, port := range subset.Ports {
			for _, address := range subset.Addresses {
				add(net.JoinHostPort(address.IP, strconv.Itoa(int(port.Port))))
			}
		}
	}
	text := strings.Join(shown, ",")
	if count > maxShown {
		text += fmt.Sprintf(" + %d more...", count-maxShown)
	}
	return text
}

// endpointsWarnings reports addresses in unusual forms. It skips objects of the endpoints controller, which writes
// none.
func endpointsWarnings(e, _ *corev1.Endpoints) []string {
	if e.Labels["endpoints.kubernetes.io/managed-by"] == "endpoint-controller" {
		return nil
	}
	var messages []string
	for i, subset := range e.Subsets {
		path := subsetsPath.Index(i)
		for j, address := range subset.Addresses {
			messages = append(messages, validation.GetWarningsForIP(path.Child("addresses").Index(j).Child("ip"), address.IP)...)
		}
		for j, address := range subset.NotReadyAddresses {
			messages = append(messages, validation.GetWarningsForIP(path.Child("notReadyAddresses").Index(j).Child("ip"), address.IP)...)
		}
	}
	return messages
}
