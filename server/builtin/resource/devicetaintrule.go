package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// DeviceTaintRule declares devicetaintrules.resource.k8s.io. They are stored in v1beta2, which the previous version
// of kube-apiserver can read.
var DeviceTaintRule = builtin.Resource[*resourcev1beta2.DeviceTaintRule]{
	Names:             builtin.Names{Plural: "devicetaintrules", Singular: "devicetaintrule"},
	List:              &resourcev1beta2.DeviceTaintRuleList{},
	Stored:            resourcev1beta2.SchemeGroupVersion,
	Served:            []schema.GroupVersion{resourcev1.SchemeGroupVersion, resourcev1beta2.SchemeGroupVersion},
	Alike:             []schema.GroupVersion{resourcev1.SchemeGroupVersion},
	ClusterScoped:     true,
	Default:           setDeviceTaintRuleDefaults,
	PrepareUpdate:     renewTime,
	Validate:          func(r *resourcev1beta2.DeviceTaintRule) field.ErrorList { return validateDeviceTaintRule(r, nil) },
	ValidateUpdate:    validateDeviceTaintRule,
	ConditionalUpdate: true,
	Spec:              func(r *resourcev1beta2.DeviceTaintRule) any { return &r.Spec },
	Status: &builtin.Status[*resourcev1beta2.DeviceTaintRule]{
		Of: func(r *resourcev1beta2.DeviceTaintRule) any { return &r.Status },
		Part: builtin.Part[*resourcev1beta2.DeviceTaintRule]{
			Keep: func(r, old *resourcev1beta2.DeviceTaintRule) {
				r.Spec = old.Spec
				metav1.ResetObjectMetaForStatus(&r.ObjectMeta, &old.ObjectMeta)
			},
			Reset: []string{"metadata", "spec"},
			Check: validateStatus,
		},
	},
	Sample:  "spec: {deviceSelector: {driver: gpu.example.com}, taint: {key: example.com/broken, effect: NoExecute}}",
	Columns: columns(),
	Row: func(r *resourcev1beta2.DeviceTaintRule) metav1.TableRow {
		taint, added := r.Spec.Taint, ""
		if taint.TimeAdded != nil {
			added = builtin.Age(*taint.TimeAdded)
		}
		return builtin.Row(r.Name, taint.Key, taint.Value, string(taint.Effect), added, builtin.Age(r.CreationTimestamp))
	},
}

func columns() []builtin.Column {
	doc := resourcev1.DeviceTaint{}.SwaggerDoc()
	return []builtin.Column{
		builtin.NameColumn,
		{Name: "Key", Type: "string", Description: doc["key"]},
		{Name: "Value", Type: "string", Description: doc["value"]},
		{Name: "Effect", Type: "string", Description: doc["effect"]},
		{Name: "TimeAdded", Type: "string", Description: doc["timeAdded"]},
		builtin.AgeColumn,
	}
}

func setDeviceTaintRuleDefaults(r *resourcev1beta2.DeviceTaintRule) {
	if r.Spec.Taint.TimeAdded == nil {
		r.Spec.Taint.TimeAdded = now()
	}
}

// renewTime sets the time of a changed effect, unless the client sets it. The seconds of tolerations count from this
// time.
func renewTime(r, old *resourcev1beta2.DeviceTaintRule) {
	if taint := &r.Spec.Taint; taint.Effect != old.Spec.Taint.Effect && taint.TimeAdded.Equal(old.Spec.Taint.TimeAdded) {
		taint.TimeAdded = now()
	}
}
