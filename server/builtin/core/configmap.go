package core

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/builtin"
)

// ConfigMap is the resource configmaps: small data for programs. An author may declare one immutable.
var ConfigMap = builtin.Resource[*corev1.ConfigMap]{
	Names:          builtin.Names{Plural: "configmaps", Singular: "configmap", Short: []string{"cm"}},
	List:           &corev1.ConfigMapList{},
	Stored:         corev1.SchemeGroupVersion,
	Default:        setConfigMapDefaults,
	Validate:       validateConfigMap,
	ValidateUpdate: validateConfigMapUpdate,
	Sample:         "data: {key: value}",
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Data", Type: "string", Description: corev1.ConfigMap{}.SwaggerDoc()["data"]},
		builtin.AgeColumn,
	},
	Row: func(cm *corev1.ConfigMap) metav1.TableRow {
		return builtin.Row(cm.Name, int64(len(cm.Data)+len(cm.BinaryData)), builtin.Age(cm.CreationTimestamp))
	},
}

func setConfigMapDefaults(cm *corev1.ConfigMap) {
	if cm.Data == nil {
		cm.Data = map[string]string{}
	}
}
