package storagemigration

import (
	migrationv1 "k8s.io/api/storagemigration/v1"
	migrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/builtin"
)

// StorageVersionMigration declares storageversionmigrations.storagemigration.k8s.io: requests to write all objects of
// a resource again, in the current storage version.
var StorageVersionMigration = builtin.Resource[*migrationv1beta1.StorageVersionMigration]{
	Names:          builtin.Names{Plural: "storageversionmigrations", Singular: "storageversionmigration"},
	List:           &migrationv1beta1.StorageVersionMigrationList{},
	Stored:         migrationv1beta1.SchemeGroupVersion,
	Served:         []schema.GroupVersion{migrationv1.SchemeGroupVersion, migrationv1beta1.SchemeGroupVersion},
	Alike:          []schema.GroupVersion{migrationv1.SchemeGroupVersion},
	ClusterScoped:  true,
	Validate:       validateMigration,
	ValidateUpdate: validateUpdate,
	Status: &builtin.Status[*migrationv1beta1.StorageVersionMigration]{
		Of: func(m *migrationv1beta1.StorageVersionMigration) any { return &m.Status },
		Part: builtin.Part[*migrationv1beta1.StorageVersionMigration]{
			Keep: func(m, old *migrationv1beta1.StorageVersionMigration) {
				m.Spec = old.Spec
				metav1.ResetObjectMetaForStatus(&m.ObjectMeta, &old.ObjectMeta)
			},
			Reset: []string{"metadata", "spec"},
			Check: validateStatus,
		},
	},
	ConditionalUpdate: true,
	Sample:            "spec: {resource: {group: apps, resource: deployments}}",
	Columns: []builtin.Column{
		{Name: "Name", Type: "string", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]},
		{Name: "Resource", Type: "string", Description: "GroupResource to migrate"},
		{Name: "Status", Type: "string", Description: "Status of the migration"},
	},
	Row: migrationRow,
}

func migrationRow(m *migrationv1beta1.StorageVersionMigration) metav1.TableRow {
	status := "Unknown"
	for _, c := range m.Status.Conditions {
		switch kind := migrationv1beta1.MigrationConditionType(c.Type); kind {
		case migrationv1beta1.MigrationRunning, migrationv1beta1.MigrationFailed, migrationv1beta1.MigrationSucceeded:
			if c.Status == metav1.ConditionTrue {
				status = c.Type
			}
		}
	}
	return builtin.Row(m.Name, m.Spec.Resource.String(), status)
}
