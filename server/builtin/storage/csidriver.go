package storage

import (
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
)

// CSIDriver declares csidrivers.storage.k8s.io: the capabilities and requirements of a volume driver.
var CSIDriver = builtin.Resource[*storagev1.CSIDriver]{
	Names:               builtin.Names{Plural: "csidrivers", Singular: "csidriver"},
	List:                &storagev1.CSIDriverList{},
	Stored:              storagev1.SchemeGroupVersion,
	ClusterScoped:       true,
	Default:             setCSIDriverDefaults,
	PrepareUpdate:       countGeneration,
	Validate:            validateCSIDriver,
	ValidateUpdate:      validateCSIDriverUpdate,
	Warnings:            csiDriverWarnings,
	ConditionalUpdate:   true,
	ReturnDeletedObject: true,
	Sample:              "spec: {attachRequired: true, podInfoOnMount: false}",
	Columns: []builtin.Column{
		builtin.NameColumn,
		csiDriverColumn("AttachRequired", "boolean", "attachRequired"),
		csiDriverColumn("PodInfoOnMount", "boolean", "podInfoOnMount"),
		csiDriverColumn("StorageCapacity", "boolean", "storageCapacity"),
		csiDriverColumn("TokenRequests", "string", "tokenRequests"),
		csiDriverColumn("RequiresRepublish", "boolean", "requiresRepublish"),
		csiDriverColumn("Modes", "string", "volumeLifecycleModes"),
		builtin.AgeColumn,
	},
	Row: row,
}

func csiDriverColumn(name, kind, of string) builtin.Column {
	return builtin.Column{Name: name, Type: kind, Description: storagev1.CSIDriverSpec{}.SwaggerDoc()[of]}
}

func row(d *storagev1.CSIDriver) metav1.TableRow {
	var modes, audiences []string
	for _, mode := range d.Spec.VolumeLifecycleModes {
		modes = append(modes, string(mode))
	}
	for _, request := range d.Spec.TokenRequests {
		audiences = append(audiences, request.Audience)
	}
	tokens := "<unset>"
	if d.Spec.TokenRequests != nil {
		tokens = strings.Join(audiences, ",")
	}
	all := strings.Join(modes, ",")
	if all == "" {
		all = "<none>"
	}
	return builtin.Row(d.Name, ptr.Deref(d.Spec.AttachRequired, true), ptr.Deref(d.Spec.PodInfoOnMount, false),
		ptr.Deref(d.Spec.StorageCapacity, false), tokens, ptr.Deref(d.Spec.RequiresRepublish, false), all, builtin.Age(d.CreationTimestamp))
}

func setCSIDriverDefaults(d *storagev1.CSIDriver) {
	setDefault(&d.Spec.AttachRequired, true)
	setDefault(&d.Spec.PodInfoOnMount, false)
	setDefault(&d.Spec.StorageCapacity, false)
	setDefault(&d.Spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	if len(d.Spec.VolumeLifecycleModes) == 0 {
		d.Spec.VolumeLifecycleModes = append(d.Spec.VolumeLifecycleModes, storagev1.VolumeLifecyclePersistent)
	}
	setDefault(&d.Spec.RequiresRepublish, false)
	setDefault(&d.Spec.SELinuxMount, false)
	setDefault(&d.Spec.PreventPodSchedulingIfMissing, false)
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func countGeneration(d, old *storagev1.CSIDriver) {
	if !apiequality.Semantic.DeepEqual(d.Spec, old.Spec) {
		d.Generation = old.Generation + 1
	}
}

func csiDriverWarnings(d, old *storagev1.CSIDriver) []string {
	requests := d.Spec.TokenRequests
	if len(requests) == 0 || d.Spec.ServiceAccountTokenInSecrets != nil {
		return nil
	}
	if old != nil && slices.EqualFunc(requests, old.Spec.TokenRequests, func(a, b storagev1.TokenRequest) bool {
		return apiequality.Semantic.DeepEqual(a, b)
	}) {
		return nil
	}
	return []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, " +
		"set to true to prevent possible logging of tokens in volume attributes"}
}
