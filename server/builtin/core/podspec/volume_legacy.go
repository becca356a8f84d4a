package podspec

import (
	"net"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Drivers for particular kinds of storage serve these volumes.

var iscsiNames = map[string]func() *regexp.Regexp{
	"iqn": pattern(`iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`),
	"eui": pattern(`^eui.[[:alnum:]]{16}$`),
	"naa": pattern(`^naa.[[:alnum:]]{32}$`),
}

// ISCSIName requires a name of an initiator or a target in one of three formats.
func ISCSIName(name string, path *field.Path) field.ErrorList {
	for prefix, format := range iscsiNames {
		if strings.HasPrefix(name, prefix) {
			if format().MatchString(name) {
				return nil
			}
			return field.ErrorList{field.Invalid(path, name, "must be valid format")}
		}
	}
	return field.ErrorList{field.Invalid(path, name, "must be valid format starting with iqn, eui, or naa")}
}

func inByteRange(n int32, path *field.Path, low int) field.ErrorList {
	if n < 0 || n > 255 {
		return field.ErrorList{field.Invalid(path, n, validation.InclusiveRangeError(low, 255))}
	}
	return nil
}

func validateISCSI(_ *validator, v *corev1.Volume, path *field.Path) field.ErrorList {
	s := v.ISCSI
	errs := required(path, "targetPortal", s.TargetPortal, "iqn", s.IQN)
	if s.IQN != "" {
		errs = append(errs, ISCSIName(s.IQN, path.Child("iqn"))...)
	}
	errs = append(errs, inByteRange(s.Lun, path.Child("lun"), 0)...)
	if (s.DiscoveryCHAPAuth || s.SessionCHAPAuth) && s.SecretRef == nil {
		errs = append(errs, field.Required(path.Child("secretRef"), ""))
	}
	if s.InitiatorName != nil {
		errs = append(errs, ISCSIName(*s.InitiatorName, path.Child("initiatorname"))...)
	}
	return errs
}

// A partition of 0 means no partition. The message gives another range, as in every Kubernetes API server.
func validateGCEDisk(_ *validator, v *corev1.Volume, path *field.Path) field.ErrorList {
	s := v.GCEPersistentDisk
	return append(required(path, "pdName", s.PDName), inByteRange(s.Partition, path.Child("partition"), 1)...)
}

func validateAWSDisk(_ *validator, v *corev1.Volume, path *field.Path) field.ErrorList {
	s := v.AWSElasticBlockStore
	return append(required(path, "volumeID", s.VolumeID), inByteRange(s.Partition, path.Child("partition"), 1)...)
}

func validateFC(_ *validator, v *corev1.Volume, path *field.Path) field.ErrorList {
	s := v.FC
	var errs field.ErrorList
	switch {
	case len(s.TargetWWNs) == 0 && len(s.WWIDs) == 0:
		errs = append(errs, field.Required(path.Child("targetWWNs"), "must specify either targetWWNs or wwids, but not both"))
	case len(s.TargetWWNs) > 0 && len(s.WWIDs) > 0:
		errs = append(errs,
			field.Invalid(path.Child("targetWWNs"), s.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously"))
	}
	switch {
	case len(s.TargetWWNs) == 0:
	case s.Lun == nil:
		errs = append(errs, field.Required(path.Child("lun"), "lun is required if targetWWNs is specified"))
	default:
		errs = append(errs, inByteRange(*s.Lun, path.Child("lun"), 0)...)
	}
	return errs
}

func validateFlocker(_ *validator, v *corev1.Volume, path *field.Path) field.ErrorList {
	s := v.Flocker
	var errs field.ErrorList
	switch {
	case s.DatasetName == "" && s.DatasetUUID == "":
		errs = append(errs, field.Required(path, "one of datasetName and datasetUUID is required"))
	case s.DatasetName != "" && s.DatasetUUID != "":
		errs = append(errs, field.Invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously"))
	}
	if strings.Contains(s.DatasetName, "/") {
		errs = append(errs, field.Invalid(path.Child("datasetName"), s.DatasetName, "must not contain '/'"))
	}
	return errs
}

func validateFlex(_ *validator, v *corev1.Volume, path *field.Path) field.ErrorList {
	s := v.FlexVolume
	errs := required(path, "driver", s.Driver)
	for _, key := range sets.List(sets.KeySet(s.Options)) {
		namespace, _, _ := strings.Cut(key, "/")
		dotted := "." + strings.ToLower(namespace)
		if strings.HasSuffix(dotted, ".kubernetes.io") || strings.HasSuffix(dotted, ".k8s.io") {
			errs = append(errs, field.Invalid(path.Child("options").Key(key), key, "kubernetes.io and k8s.io namespaces are reserved"))
		}
	}
	return errs
}

func validateQuobyte(_ *validator, v *corev1.Volume, path *field.Path) field.ErrorList {
	const pairs, maxTenant = "must be a host:port pair or multiple pairs separated by commas", 64
	s := v.Quobyte
	var errs field.ErrorList
	switch {
	case s.Registry == "":
		errs = append(errs, field.Required(path.Child("registry"), pairs))
	case len(s.Tenant) > maxTenant:
		errs = append(errs, field.Required(path.Child("tenant"), "must be a UUID and may not exceed a length of 64 characters"))
	default:
		for _, pair := range strings.Split(s.Registry, ",") {
			if _, _, err := net.SplitHostPort(pair); err != nil {
				errs = append(errs, field.Invalid(path.Child("registry"), s.Registry, pairs))
			}
		}
	}
	return append(errs, required(path, "volume", s.Volume)...)
}

func validateStorageOS(_ *validator, v *corev1.Volume, path *field.Path) field.ErrorList {
	s := v.StorageOS
	errs := requiredLabel(s.VolumeName, path.Child("volumeName"))
	if s.VolumeNamespace != "" {
		errs = append(errs, invalid(path.Child("volumeNamespace"), s.VolumeNamespace, validation.IsDNS1123Label(s.VolumeNamespace))...)
	}
	return append(errs, secretName(s.SecretRef, path)...)
}

func validateAzureDisk(_ *validator, v *corev1.Volume, path *field.Path) field.ErrorList {
	s := v.AzureDisk
	errs := required(path, "diskName", s.DiskName, "diskURI", s.DataDiskURI)
	if s.CachingMode != nil {
		errs = append(errs, supportedOrEmpty(path.Child("cachingMode"), *s.CachingMode,
			corev1.AzureDataDiskCachingNone, corev1.AzureDataDiskCachingReadOnly, corev1.AzureDataDiskCachingReadWrite)...)
	}
	if s.Kind == nil {
		return errs
	}
	errs = append(errs, supportedOrEmpty(path.Child("kind"), *s.Kind,
		corev1.AzureDedicatedBlobDisk, corev1.AzureManagedDisk, corev1.AzureSharedBlobDisk)...)
	prefix, form := "https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
	if *s.Kind == corev1.AzureManagedDisk {
		prefix, form = "/subscriptions/", "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
	}
	if !strings.HasPrefix(s.DataDiskURI, prefix) {
		errs = append(errs, field.NotSupported(path.Child("diskURI"), s.DataDiskURI, []string{form}))
	}
	return errs
}
