package flowcontrol

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/builtin"
)

// FlowSchema declares flowschemas.flowcontrol.apiserver.k8s.io, which assign requests to priority levels.
var FlowSchema = builtin.Resource[*flowcontrolv1.FlowSchema]{
	Names:          builtin.Names{Plural: "flowschemas", Singular: "flowschema"},
	List:           &flowcontrolv1.FlowSchemaList{},
	Stored:         flowcontrolv1.SchemeGroupVersion,
	ClusterScoped:  true,
	Default:        setFlowSchemaDefaults,
	Validate:       validateFlowSchema,
	ValidateUpdate: validateFlowSchemaUpdate,
	Spec:           func(s *flowcontrolv1.FlowSchema) any { return &s.Spec },
	Status: &builtin.Status[*flowcontrolv1.FlowSchema]{
		Of: func(s *flowcontrolv1.FlowSchema) any { return &s.Status },
		Part: builtin.Part[*flowcontrolv1.FlowSchema]{
			Keep: func(s, old *flowcontrolv1.FlowSchema) {
				keepMeta(&s.ObjectMeta, &old.ObjectMeta)
				s.Spec = old.Spec
			},
			Reset: []string{"metadata", "spec"},
			Check: validateFlowSchemaStatus,
		},
	},
	Sample: `spec:
  priorityLevelConfiguration: {name: global-default}
  matchingPrecedence: 1000
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: Group, group: {name: system:authenticated}}]
    resourceRules: [{verbs: ["*"], apiGroups: [""], resources: [pods], namespaces: ["*"]}]`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "PriorityLevel", Type: "string", Description: flowcontrolv1.PriorityLevelConfigurationReference{}.SwaggerDoc()["name"]},
		{Name: "MatchingPrecedence", Type: "string", Description: flowcontrolv1.FlowSchemaSpec{}.SwaggerDoc()["matchingPrecedence"]},
		{Name: "DistinguisherMethod", Type: "string", Description: flowcontrolv1.FlowSchemaSpec{}.SwaggerDoc()["distinguisherMethod"]},
		builtin.AgeColumn,
		{Name: "MissingPL", Type: "string", Description: "references a broken or non-existent PriorityLevelConfiguration"},
	},
	Row: flowSchemaRow,
}

func flowSchemaRow(s *flowcontrolv1.FlowSchema) metav1.TableRow {
	method, dangling := "<none>", "?"
	if m := s.Spec.DistinguisherMethod; m != nil {
		method = string(m.Type)
	}
	for _, c := range s.Status.Conditions {
		if c.Type == flowcontrolv1.FlowSchemaConditionDangling {
			dangling = string(c.Status)
			break
		}
	}
	return builtin.Row(s.Name, s.Spec.PriorityLevelConfiguration.Name, int64(s.Spec.MatchingPrecedence), method,
		builtin.Age(s.CreationTimestamp), dangling)
}

func setFlowSchemaDefaults(s *flowcontrolv1.FlowSchema) {
	if s.Spec.MatchingPrecedence == 0 {
		s.Spec.MatchingPrecedence = 1000
	}
}
