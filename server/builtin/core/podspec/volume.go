package podspec

import (
	"fmt"
	"path"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateVolumes validates the volumes, and records the valid ones for the checks of the containers' mounts.
func (v *validator) validateVolumes(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	created := sets.New[string]()
	for i := range v.spec.Volumes {
		volume, at := &v.spec.Volumes[i], path.Index(i)
		wrong := v.validateVolumeSource(volume, at)
		wrong = append(wrong, requiredLabel(volume.Name, at.Child("name"))...)
		if _, ok := v.volumes[volume.Name]; ok {
			wrong = append(wrong, field.Duplicate(at.Child("name"), volume.Name))
		}
		if len(wrong) == 0 {
			v.volumes[volume.Name] = volume.VolumeSource
		}
		errs = append(errs, wrong...)
		if volume.Ephemeral != nil && v.meta != nil && v.meta.Name != "" {
			created.Insert(v.meta.Name + "-" + volume.Name)
		}
	}
	for i, volume := range v.spec.Volumes {
		if claim := volume.PersistentVolumeClaim; claim != nil && created.Has(claim.ClaimName) {
			errs = append(errs, field.Invalid(path.Index(i).Child("persistentVolumeClaim", "claimName"), claim.ClaimName,
				"must not reference a PVC that gets created for an ephemeral volume"))
		}
	}
	return errs
}

// validateVolumeSource requires exactly one valid source. If there are several, it checks only the first in the order
// of volumeKinds.
func (v *validator) validateVolumeSource(volume *corev1.Volume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	found := false
	for _, kind := range volumeKinds {
		if reflect.ValueOf(volume.VolumeSource).FieldByName(kind.field).IsNil() {
			continue
		}
		if found {
			errs = append(errs, field.Forbidden(path.Child(kind.name), "may not specify more than 1 volume type"))
			continue
		}
		found = true
		if kind.validate != nil {
			at := path.Child(kind.name)
			if kind.path != "" {
				at = path.Child(kind.path)
			}
			errs = append(errs, kind.validate(v, volume, at)...)
		}
	}
	if !found {
		errs = append(errs, field.Required(path, "must specify a volume type"))
	}
	return append(errs, v.validateVolumeName(volume, path.Child("name"))...)
}

// ValidateSource validates the only source that is set. Its kind is one that persistent volumes have too.
func ValidateSource(source corev1.VolumeSource, path *field.Path) field.ErrorList {
	for _, kind := range volumeKinds {
		if !reflect.ValueOf(source).FieldByName(kind.field).IsNil() {
			return kind.validate(nil, &corev1.Volume{VolumeSource: source}, path)
		}
	}
	return nil
}

// validateVolumeName checks other names that are derived from a volume's name.
func (v *validator) validateVolumeName(volume *corev1.Volume, path *field.Path) field.ErrorList {
	if s := volume.ISCSI; s != nil && s.InitiatorName != nil && len(volume.Name+":"+s.TargetPortal) > 64 {
		return field.ErrorList{field.Invalid(path, volume.Name,
			"Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.")}
	}
	if volume.Ephemeral == nil || v.meta == nil || v.meta.Name == "" || volume.Name == "" {
		return nil
	}
	var errs field.ErrorList
	claim := v.meta.Name + "-" + volume.Name
	for _, message := range apivalidation.NameIsDNSSubdomain(claim, false) {
		errs = append(errs, field.Invalid(path, volume.Name, fmt.Sprintf("PVC name %q: %v", claim, message)))
	}
	return errs
}

// volumeKinds lists all sources of volumes, in the order of the checks.
var volumeKinds = []struct {
	field    string // in corev1.VolumeSource
	name     string // in error paths, if several are set
	path     string // in error paths of its contents, if it differs
	validate func(*validator, *corev1.Volume, *field.Path) field.ErrorList
}{
	{field: "EmptyDir", name: "emptyDir", validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
		if limit := s.EmptyDir.SizeLimit; limit != nil && limit.Sign() < 0 {
			return field.ErrorList{field.Forbidden(p.Child("sizeLimit"), "SizeLimit field must be a valid resource quantity")}
		}
		return nil
	}},
	{field: "HostPath", name: "hostPath", validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
		if s.HostPath.Path == "" {
			return required(p, "path", "")
		}
		errs := noBacksteps(s.HostPath.Path, p.Child("path"))
		if s.HostPath.Type != nil {
			errs = append(errs, supportedOrEmpty(p.Child("type"), *s.HostPath.Type, corev1.HostPathUnset,
				corev1.HostPathBlockDev, corev1.HostPathCharDev, corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate,
				corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket)...)
		}
		return errs
	}},
	{field: "GitRepo", name: "gitRepo", validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
		return append(required(p, "repository", s.GitRepo.Repository), descendingPath(s.GitRepo.Directory, p.Child("directory"))...)
	}},
	{field: "GCEPersistentDisk", name: "gcePersistentDisk", path: "persistentDisk", validate: validateGCEDisk},
	{field: "AWSElasticBlockStore", name: "awsElasticBlockStore", validate: validateAWSDisk},
	{field: "Secret", name: "secret", validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
		errs := required(p, "secretName", s.Secret.SecretName)
		errs = append(errs, fileMode(s.Secret.DefaultMode, p.Child("defaultMode"))...)
		return append(errs, validateKeysToPaths(s.Secret.Items, p.Child("items"))...)
	}},
	{field: "NFS", name: "nfs", validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
		errs := required(p, "server", s.NFS.Server, "path", s.NFS.Path)
		if !path.IsAbs(s.NFS.Path) {
			errs = append(errs, field.Invalid(p.Child("path"), s.NFS.Path, "must be an absolute path"))
		}
		return errs
	}},
	{field: "ISCSI", name: "iscsi", validate: validateISCSI},
	{field: "Glusterfs", name: "glusterfs", validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
		return required(p, "endpoints", s.Glusterfs.EndpointsName, "path", s.Glusterfs.Path)
	}},
	{field: "Flocker", name: "flocker", validate: validateFlocker},
	{field: "PersistentVolumeClaim", name: "persistentVolumeClaim",
		validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
			return required(p, "claimName", s.PersistentVolumeClaim.ClaimName)
		}},
	{field: "RBD", name: "rbd", validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
		return append(nonEmpty(p.Child("monitors"), s.RBD.CephMonitors), required(p, "image", s.RBD.RBDImage)...)
	}},
	{field: "Cinder", name: "cinder", validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
		return append(required(p, "volumeID", s.Cinder.VolumeID), secretName(s.Cinder.SecretRef, p)...)
	}},
	{field: "CephFS", name: "cephFS", path: "cephfs", validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
		return nonEmpty(p.Child("monitors"), s.CephFS.Monitors)
	}},
	{field: "Quobyte", name: "quobyte", validate: validateQuobyte},
	{field: "DownwardAPI", name: "downwarAPI", path: "downwardAPI",
		validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
			errs := fileMode(s.DownwardAPI.DefaultMode, p.Child("defaultMode"))
			for i := range s.DownwardAPI.Items {
				errs = append(errs, validateDownwardFile(&s.DownwardAPI.Items[i], p)...)
			}
			return errs
		}},
	{field: "FC", name: "fc", validate: validateFC},
	{field: "FlexVolume", name: "flexVolume", validate: validateFlex},
	{field: "ConfigMap", name: "configMap", validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
		errs := required(p, "name", s.ConfigMap.Name)
		errs = append(errs, fileMode(s.ConfigMap.DefaultMode, p.Child("defaultMode"))...)
		return append(errs, validateKeysToPaths(s.ConfigMap.Items, p.Child("items"))...)
	}},
	{field: "AzureFile", name: "azureFile", validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
		return required(p, "secretName", s.AzureFile.SecretName, "shareName", s.AzureFile.ShareName)
	}},
	{field: "VsphereVolume", name: "vsphereVolume", validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
		return required(p, "volumePath", s.VsphereVolume.VolumePath)
	}},
	{field: "PhotonPersistentDisk", name: "photonPersistentDisk",
		validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
			return required(p, "pdID", s.PhotonPersistentDisk.PdID)
		}},
	{field: "PortworxVolume", name: "portworxVolume", validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
		return required(p, "volumeID", s.PortworxVolume.VolumeID)
	}},
	{field: "AzureDisk", name: "azureDisk", validate: validateAzureDisk},
	{field: "StorageOS", name: "storageos", validate: validateStorageOS},
	{field: "Projected", name: "projected", validate: (*validator).validateProjected},
	{field: "ScaleIO", name: "scaleIO", validate: func(_ *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
		return required(p, "gateway", s.ScaleIO.Gateway, "system", s.ScaleIO.System, "volumeName", s.ScaleIO.VolumeName)
	}},
	{field: "CSI", name: "csi", validate: validateCSI},
	{field: "Ephemeral", name: "ephemeral", validate: validateEphemeral},
	{field: "Image", name: "image", validate: func(v *validator, s *corev1.Volume, p *field.Path) field.ErrorList {
		var errs field.ErrorList
		if v.Pod {
			errs = required(p, "reference", s.Image.Reference)
		}
		return append(errs, validatePullPolicy(s.Image.PullPolicy, p.Child("pullPolicy"))...)
	}},
}

func secretName(ref *corev1.LocalObjectReference, path *field.Path) field.ErrorList {
	if ref == nil {
		return nil
	}
	return required(path.Child("secretRef"), "name", ref.Name)
}

// nonEmpty requires an element in a list. The element may be empty.
func nonEmpty(path *field.Path, list []string) field.ErrorList {
	if len(list) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	return nil
}

func validateCSI(_ *validator, s *corev1.Volume, path *field.Path) field.ErrorList {
	errs := ValidateDriverName(s.CSI.Driver, path.Child("driver"))
	if ref := s.CSI.NodePublishSecretRef; ref != nil {
		if ref.Name == "" {
			return append(errs, required(path.Child("nodePublishSecretRef"), "name", "")...)
		}
		errs = append(errs, invalid(path.Child("name"), ref.Name, apivalidation.NameIsDNSSubdomain(ref.Name, false))...)
	}
	return errs
}
