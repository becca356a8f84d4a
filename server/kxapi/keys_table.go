package kxapi

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/builtin"
)

var keyColumns = []builtin.Column{
	builtin.NameColumn,
	{Name: "Keys", Type: "integer", Description: "How many keys there are."},
	{Name: "Bytes", Type: "integer", Description: "What their values have; of large directories what was read of them."},
	{Name: "Revision", Type: "integer", Description: "The revision of the last change."},
	{Name: "Version", Type: "integer", Description: "How often the key was written since it was created."},
	{Name: "Key", Type: "string", Description: "The key itself."},
	{Name: "Created", Type: "integer", Priority: 1, Description: "The revision at which the key came to be."},
	{Name: "Lease", Type: "string", Priority: 1, Description: "The lease that the key ends with."},
	{Name: "Measured", Type: "integer", Priority: 1, Description: "Of how many keys bytes and revision are."},
	{Name: "Format", Type: "string", Priority: 1, Description: "How the value is encoded and encrypted."},
}

func keyRow(k *v1alpha1.Key) metav1.TableRow {
	s, format := &k.Status, ""
	if s.Value != nil {
		format = strings.TrimSpace(s.Value.Format + " " + s.Value.Encryption)
	}
	return builtin.Row(k.Name, s.Keys, s.Bytes, s.ModRevision, s.Version, k.Spec.Key, s.CreateRevision, s.Lease, s.Measured, format)
}
