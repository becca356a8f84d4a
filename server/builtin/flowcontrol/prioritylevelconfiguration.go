package flowcontrol

import (
	"cmp"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
)

// PriorityLevelConfiguration declares prioritylevelconfigurations.flowcontrol.apiserver.k8s.io, which share an API
// server's concurrency among priority levels.
var PriorityLevelConfiguration = builtin.Resource[*flowcontrolv1.PriorityLevelConfiguration]{
	Names:          builtin.Names{Plural: "prioritylevelconfigurations", Singular: "prioritylevelconfiguration"},
	List:           &flowcontrolv1.PriorityLevelConfigurationList{},
	Stored:         flowcontrolv1.SchemeGroupVersion,
	ClusterScoped:  true,
	Default:        setPriorityLevelConfigurationDefaults,
	Validate:       validatePriorityLevelConfiguration,
	ValidateUpdate: validatePriorityLevelConfigurationUpdate,
	Spec:           func(l *flowcontrolv1.PriorityLevelConfiguration) any { return &l.Spec },
	Status: &builtin.Status[*flowcontrolv1.PriorityLevelConfiguration]{
		Of: func(l *flowcontrolv1.PriorityLevelConfiguration) any { return &l.Status },
		Part: builtin.Part[*flowcontrolv1.PriorityLevelConfiguration]{
			Keep: func(l, old *flowcontrolv1.PriorityLevelConfiguration) {
				keepMeta(&l.ObjectMeta, &old.ObjectMeta)
				l.Spec = old.Spec
			},
			Reset: []string{"metadata", "spec"},
			Check: validatePriorityLevelConfigurationStatus,
		},
	},
	Sample: `spec:
  type: Limited
  limited: {nominalConcurrencyShares: 30, limitResponse: {type: Reject}}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		column("Type", flowcontrolv1.PriorityLevelConfigurationSpec{}.SwaggerDoc(), "type"),
		column("NominalConcurrencyShares", flowcontrolv1.LimitedPriorityLevelConfiguration{}.SwaggerDoc(), "nominalConcurrencyShares"),
		column("Queues", flowcontrolv1.QueuingConfiguration{}.SwaggerDoc(), "queues"),
		column("HandSize", flowcontrolv1.QueuingConfiguration{}.SwaggerDoc(), "handSize"),
		column("QueueLengthLimit", flowcontrolv1.QueuingConfiguration{}.SwaggerDoc(), "queueLengthLimit"),
		builtin.AgeColumn,
	},
	Row: priorityLevelConfigurationRow,
}

func column(name string, docs map[string]string, of string) builtin.Column {
	return builtin.Column{Name: name, Type: "string", Description: docs[of]}
}

func priorityLevelConfigurationRow(l *flowcontrolv1.PriorityLevelConfiguration) metav1.TableRow {
	const none = "<none>"
	var shares, queues, handSize, limit any = none, none, none, none
	if limited := l.Spec.Limited; limited != nil {
		shares = int64(ptr.Deref(limited.NominalConcurrencyShares, 0))
		if q := limited.LimitResponse.Queuing; q != nil {
			queues, handSize, limit = int64(q.Queues), int64(q.HandSize), int64(q.QueueLengthLimit)
		}
	}
	return builtin.Row(l.Name, string(l.Spec.Type), shares, queues, handSize, limit, builtin.Age(l.CreationTimestamp))
}

func setPriorityLevelConfigurationDefaults(l *flowcontrolv1.PriorityLevelConfiguration) {
	if limited := l.Spec.Limited; limited != nil {
		setDefault(&limited.NominalConcurrencyShares, 30)
		setDefault(&limited.LendablePercent, 0)
		if q := limited.LimitResponse.Queuing; q != nil {
			q.HandSize = cmp.Or(q.HandSize, 8)
			q.Queues = cmp.Or(q.Queues, 64)
			q.QueueLengthLimit = cmp.Or(q.QueueLengthLimit, 50)
		}
	}
	if exempt := l.Spec.Exempt; exempt != nil {
		setDefault(&exempt.NominalConcurrencyShares, 0)
		setDefault(&exempt.LendablePercent, 0)
	}
}

func setDefault(field **int32, value int32) {
	if *field == nil {
		*field = &value
	}
}
