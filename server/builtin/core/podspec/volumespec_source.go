package podspec

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// kinds lists all sources, in the order of the checks. A volume of a pod has fields of the same names. If validate is
// nil, the types are the same too, and ValidateSource checks the source.
var kinds = []struct {
	field    string // in corev1.PersistentVolumeSource
	name     string // in error paths, if several are set
	path     string // in error paths of its contents, if it differs
	validate func(volumeSpecVolume, *field.Path) field.ErrorList
}{
	{field: "HostPath", name: "hostPath"},
	{field: "GCEPersistentDisk", name: "gcePersistentDisk", path: "persistentDisk"},
	{field: "AWSElasticBlockStore", name: "awsElasticBlockStore"},
	{field: "Glusterfs", name: "glusterfs", validate: validateGlusterfs},
	{field: "Flocker", name: "flocker"},
	{field: "NFS", name: "nfs"},
	{field: "RBD", name: "rbd", validate: func(v volumeSpecVolume, p *field.Path) field.ErrorList {
		return ValidateSource(corev1.VolumeSource{RBD: &corev1.RBDVolumeSource{
			CephMonitors: v.RBD.CephMonitors, RBDImage: v.RBD.RBDImage}}, p)
	}},
	{field: "Quobyte", name: "quobyte"},
	{field: "CephFS", name: "cephFS", path: "cephfs", validate: func(v volumeSpecVolume, p *field.Path) field.ErrorList {
		return ValidateSource(corev1.VolumeSource{CephFS: &corev1.CephFSVolumeSource{Monitors: v.CephFS.Monitors}}, p)
	}},
	{field: "ISCSI", name: "iscsi", validate: validateVolumeSpecISCSI},
	{field: "Cinder", name: "cinder", validate: func(v volumeSpecVolume, p *field.Path) field.ErrorList {
		return append(volumeSpecRequired(p, "volumeID", v.Cinder.VolumeID), secretIn(v.Cinder.SecretRef, p)...)
	}},
	{field: "FC", name: "fc"},
	{field: "FlexVolume", name: "flexVolume", validate: func(v volumeSpecVolume, p *field.Path) field.ErrorList {
		return ValidateSource(corev1.VolumeSource{FlexVolume: &corev1.FlexVolumeSource{
			Driver: v.FlexVolume.Driver, Options: v.FlexVolume.Options}}, p)
	}},
	{field: "AzureFile", name: "azureFile", validate: func(v volumeSpecVolume, p *field.Path) field.ErrorList {
		s := v.AzureFile
		errs := volumeSpecRequired(p, "secretName", s.SecretName, "shareName", s.ShareName)
		if s.SecretNamespace != nil {
			errs = append(errs, volumeSpecRequired(p, "secretNamespace", *s.SecretNamespace)...)
		}
		return errs
	}},
	{field: "VsphereVolume", name: "vsphereVolume"},
	{field: "PhotonPersistentDisk", name: "photonPersistentDisk"},
	{field: "PortworxVolume", name: "portworxVolume"},
	{field: "AzureDisk", name: "azureDisk"},
	{field: "ScaleIO", name: "scaleIO", validate: func(v volumeSpecVolume, p *field.Path) field.ErrorList {
		s := v.ScaleIO
		return volumeSpecRequired(p, "gateway", s.Gateway, "system", s.System, "volumeName", s.VolumeName)
	}},
	{field: "Local", name: "local", validate: validateLocal},
	{field: "StorageOS", name: "storageos", validate: func(v volumeSpecVolume, p *field.Path) field.ErrorList {
		s := v.StorageOS
		errs := ValidateSource(corev1.VolumeSource{StorageOS: &corev1.StorageOSVolumeSource{
			VolumeName: s.VolumeName, VolumeNamespace: s.VolumeNamespace}}, p)
		if s.SecretRef != nil {
			errs = append(errs, volumeSpecRequired(p.Child("secretRef"), "name", s.SecretRef.Name, "namespace", s.SecretRef.Namespace)...)
		}
		return errs
	}},
	{field: "CSI", name: "csi", validate: validateVolumeSpecCSI},
}

// validateOnlySource requires exactly one valid source. If there are several, it checks only the first in the order of
// kinds. A flex volume is always checked, and never reported as a second source.
func (v volumeSpecVolume) validateOnlySource() field.ErrorList {
	var errs field.ErrorList
	path := v.path
	sources := reflect.ValueOf(v.PersistentVolumeSource)
	found := false
	for _, kind := range kinds {
		source := sources.FieldByName(kind.field)
		if source.IsNil() {
			continue
		}
		if found && kind.field != "FlexVolume" {
			errs = append(errs, field.Forbidden(path.Child(kind.name), "may not specify more than 1 volume type"))
			continue
		}
		found = true
		at := path.Child(kind.name)
		if kind.path != "" {
			at = path.Child(kind.path)
		}
		if kind.validate != nil {
			errs = append(errs, kind.validate(v, at)...)
			continue
		}
		var inPod corev1.VolumeSource
		reflect.ValueOf(&inPod).Elem().FieldByName(kind.field).Set(source)
		errs = append(errs, ValidateSource(inPod, at)...)
	}
	if !found {
		errs = append(errs, field.Required(path, "must specify a volume type"))
	}
	return errs
}

// volumeSpecRequired requires that each named string is set.
func volumeSpecRequired(path *field.Path, namesAndValues ...string) field.ErrorList {
	var errs field.ErrorList
	for i := 0; i < len(namesAndValues); i += 2 {
		if namesAndValues[i+1] == "" {
			errs = append(errs, field.Required(path.Child(namesAndValues[i]), ""))
		}
	}
	return errs
}

// secretIn requires a secret's name and namespace: a persistent volume has no namespace.
func secretIn(ref *corev1.SecretReference, path *field.Path) field.ErrorList {
	if ref == nil {
		return nil
	}
	return volumeSpecRequired(path.Child("secretRef"), "name", ref.Name, "namespace", ref.Namespace)
}

func validateGlusterfs(v volumeSpecVolume, path *field.Path) field.ErrorList {
	s := v.Glusterfs
	errs := volumeSpecRequired(path, "endpoints", s.EndpointsName, "path", s.Path)
	if s.EndpointsNamespace == nil {
		return errs
	}
	namespace, at := *s.EndpointsNamespace, path.Child("endpointsNamespace")
	if namespace == "" {
		return append(errs, field.Invalid(at, namespace, "if the endpointnamespace is set, it must be a valid namespace name"))
	}
	return append(errs, builtin.Invalids(at, namespace, apivalidation.ValidateNamespaceName(namespace, false))...)
}

func validateVolumeSpecISCSI(v volumeSpecVolume, path *field.Path) field.ErrorList {
	s := v.ISCSI
	errs := volumeSpecRequired(path, "targetPortal", s.TargetPortal)
	if s.InitiatorName != nil && len(v.name+":"+s.TargetPortal) > 64 {
		errs = append(errs, field.Invalid(path.Child("targetportal"), s.TargetPortal,
			"Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."))
	}
	errs = append(errs, volumeSpecRequired(path, "iqn", s.IQN)...)
	if s.IQN != "" {
		errs = append(errs, validateInitiator(s.IQN, path.Child("iqn"))...)
	}
	if s.Lun < 0 || s.Lun > 255 {
		errs = append(errs, field.Invalid(path.Child("lun"), s.Lun, validation.InclusiveRangeError(0, 255)))
	}
	if s.SecretRef != nil {
		errs = append(errs, volumeSpecRequired(path.Child("secretRef"), "name", s.SecretRef.Name)...)
	} else if s.DiscoveryCHAPAuth || s.SessionCHAPAuth {
		errs = append(errs, field.Required(path.Child("secretRef"), ""))
	}
	if s.InitiatorName != nil {
		errs = append(errs, validateInitiator(*s.InitiatorName, path.Child("initiatorname"))...)
	}
	return errs
}

// validateInitiator replaces the two messages for volumes of pods by one.
func validateInitiator(name string, path *field.Path) field.ErrorList {
	errs := ISCSIName(name, path)
	for _, err := range errs {
		err.Detail = "must be valid format"
	}
	return errs
}

func validateLocal(v volumeSpecVolume, path *field.Path) field.ErrorList {
	errs := ValidateSource(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: v.Local.Path}}, path)
	if v.NodeAffinity == nil {
		errs = append(errs, field.Required(v.path.Child("nodeAffinity"), "Local volume requires node affinity"))
	}
	return errs
}

func validateVolumeSpecCSI(v volumeSpecVolume, path *field.Path) field.ErrorList {
	s := v.CSI
	errs := ValidateDriverName(s.Driver, path.Child("driver"))
	errs = append(errs, volumeSpecRequired(path, "volumeHandle", s.VolumeHandle)...)
	for _, secret := range []struct {
		name string
		ref  *corev1.SecretReference
	}{
		{"controllerPublishSecretRef", s.ControllerPublishSecretRef}, {"controllerExpandSecretRef", s.ControllerExpandSecretRef},
		{"nodePublishSecretRef", s.NodePublishSecretRef}, {"nodeExpandSecretRef", s.NodeExpandSecretRef},
	} {
		if secret.ref == nil {
			continue
		}
		at := path.Child(secret.name)
		for _, part := range []struct {
			name, value string
			check       func(string) []string
		}{{"name", secret.ref.Name, validation.IsDNS1123Subdomain}, {"namespace", secret.ref.Namespace, validation.IsDNS1123Label}} {
			if part.value == "" {
				errs = append(errs, field.Required(at.Child(part.name), ""))
			} else {
				errs = append(errs, builtin.Invalids(at.Child(part.name), part.value, part.check(part.value))...)
			}
		}
	}
	return errs
}
