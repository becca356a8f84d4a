package definition

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/builtin"
)

var columns = []builtin.Column{
	builtin.NameColumn,
	{Name: "Scope", Type: "string", Description: "Cluster/Namespaced"},
	{Name: "Versions", Type: "string", Description: "Served versions"},
	// A client may show a date as an age.
	{Name: "Created At", Type: "date", Description: builtin.AgeColumn.Description},
	{Name: "Group", Type: "string", Priority: 1, Description: "API group"},
	{Name: "Kind", Type: "string", Priority: 1, Description: "CustomResource kind"},
	{Name: "ShortNames", Type: "string", Priority: 1, Description: "Short names"},
	{Name: "Established", Type: "boolean", Priority: 1, Description: "Established status"},
}

// table has kubectl's columns.
var table = builtin.NewTable(columns, func(d *crd) metav1.TableRow {
	return builtin.Row(d.Name, string(d.Spec.Scope), servedVersions(d), d.CreationTimestamp.UTC().Format(time.RFC3339),
		d.Spec.Group, d.Spec.Names.Kind, strings.Join(d.Spec.Names.ShortNames, ","),
		apiextensions.IsCRDConditionTrue(d, apiextensions.Established))
})

func servedVersions(d *crd) string {
	var served []string
	for _, v := range d.Spec.Versions {
		if !v.Served {
			continue
		}
		name := v.Name
		if v.Storage {
			name += "(storage)"
		}
		served = append(served, name)
	}
	slices.Sort(served)
	return strings.Join(served, ",")
}
