package podspec

import "testing"

func TestValidateVolumes(t *testing.T) {
	const path = `spec.volumes[0].`
	tooMany := `: Forbidden: may not specify more than 1 volume type`
	run(t, []specCase{
		{"names", with("volumes: [{name: ''}, {name: A}, {name: a}, {name: a}]"), []string{
			path + `name: Required value`,
			`spec.volumes[1].name: Invalid value: "A": ` + labelRule,
			`spec.volumes[3].name: Duplicate value: "a"`}},
		{"two sources", volume("emptyDir: {}, secret: {secretName: s}, downwardAPI: {}"), []string{path + `secret` + tooMany, path + `downwarAPI` + tooMany}},
		{"empty dir", volume("emptyDir: {sizeLimit: -1}"), []string{
			path + `emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity`}},
		{"host path", volume("hostPath: {path: /a/../b, type: Disk}"), []string{
			path + `hostPath.path: Invalid value: "/a/../b": must not contain '..'`,
			path + `hostPath.type: Unsupported value: "Disk": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"`}},
		{"host path, empty", volume("hostPath: {}"), []string{path + `hostPath.path: Required value`}},
		{"secret", volume("secret: {defaultMode: 1000, items: [{key: k, path: /p, mode: -1}, {}]}"), []string{
			path + `secret.secretName: Required value`,
			path + `secret.defaultMode: Invalid value: 1000: ` + fileModeRule,
			path + `secret.items[0].path: Invalid value: "/p": must be a relative path`,
			path + `secret.items[0].mode: Invalid value: -1: ` + fileModeRule,
			path + `secret.items[1].key: Required value`,
			path + `secret.items[1].path: Required value`}},
		{"config map", volume("configMap: {items: [{key: k, path: ..p}]}"), []string{
			path + `configMap.name: Required value`,
			path + `configMap.items[0].path: Invalid value: "..p": must not start with '..'`}},
		{"downward API", volume("downwardAPI: {items: [{path: a}, {path: b, fieldRef: {fieldPath: status.podIP}}, {path: c, resourceFieldRef: {resource: limits.cpu}}]}"), []string{
			path + `downwardAPI: Required value: one of fieldRef and resourceFieldRef is required`,
			path + `downwardAPI.fieldRef.fieldPath: Unsupported value: "status.podIP": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"`,
			path + `downwardAPI.resourceFieldRef.containerName: Required value`}},
		{"projected", volume("projected: {sources: [{secret: {name: s, items: [{key: k, path: p}]}}, {configMap: {name: m, items: [{key: k, path: p}]}}, {serviceAccountToken: {path: t, expirationSeconds: 10}}, {serviceAccountToken: {}, secret: {}}]}"), []string{
			path + `projected: Invalid value: "m": conflicting duplicate paths`,
			path + `projected.sources[2].serviceAccountToken.expirationSeconds: Invalid value: 10: may not specify a duration less than 10 minutes`,
			path + `projected.sources[3].secret.name: Required value`,
			path + `projected.path: Required value`,
			path + `projected.sources[3]: Forbidden: may not specify more than 1 volume type per source`}},
		{"trust bundles", volume("projected: {sources: [{clusterTrustBundle: {path: a}}, {clusterTrustBundle: {name: 'a:b', signerName: x.io/b, path: b}}, {clusterTrustBundle: {name: 'x.io:b:C', path: ''}}]}"), []string{
			path + `projected.sources[0].clusterTrustBundle: Required value: either name or signerName must be specified`,
			path + `projected.sources[1].clusterTrustBundle: Invalid value: {"Name":"a:b","SignerName":"x.io/b","LabelSelector":null,"Optional":null,"Path":"b","User":null}: only one of name and signerName may be used`,
			path + `projected.sources[2].clusterTrustBundle.name: Invalid value: "x.io:b:C": not a valid clustertrustbundlename: ` + subdomainRule,
			path + `projected.sources[2].clusterTrustBundle.path: Required value`}},
		{"pod certificate", volume("projected: {sources: [{podCertificate: {signerName: x, keyType: DSA, maxExpirationSeconds: 1}}]}"), []string{
			path + `projected.sources[0].podCertificate.signerName: Invalid value: "x": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
			path + `projected.sources[0].podCertificate.keyType: Unsupported value: "DSA": supported values: "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"`,
			path + `projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value: 1: if provided, maxExpirationSeconds must be >= 3600`,
			path + `projected.sources[0].podCertificate: Required value: specify at least one of credentialBundlePath, keyPath, and certificateChainPath`}},
		{"claim", volume("persistentVolumeClaim: {}"), []string{path + `persistentVolumeClaim.claimName: Required value`}},
		{"nfs", volume("nfs: {server: s, path: p}"), []string{path + `nfs.path: Invalid value: "p": must be an absolute path`}},
		{"csi", volume("csi: {driver: A_, nodePublishSecretRef: {}}"), []string{
			path + `csi.driver: Invalid value: "A_": ` + subdomainRule,
			path + `csi.nodePublishSecretRef.name: Required value`}},
		{"image", volume("image: {pullPolicy: Soon}"), []string{
			path + `image.reference: Required value`,
			path + `image.pullPolicy: Unsupported value: "Soon": supported values: "Always", "IfNotPresent", "Never"`}},
		{"ephemeral", volume("ephemeral: {}"), []string{path + `ephemeral.volumeClaimTemplate: Required value`}},
		{"ephemeral's claim", volume("ephemeral: {volumeClaimTemplate: {metadata: {name: x}, spec: {accessModes: [ReadWriteOncePod, Never], volumeMode: Tape}}}"), []string{
			path + `ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set`,
			path + `ephemeral.volumeClaimTemplate.spec.accessModes: Unsupported value: "Never": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`,
			path + `ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value`,
			path + `ephemeral.volumeClaimTemplate.spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"`}},
		{"claim of an ephemeral volume", with("volumes: [{name: a, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}, {name: b, persistentVolumeClaim: {claimName: p-a}}]"), []string{
			`spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "p-a": must not reference a PVC that gets created for an ephemeral volume`}},
	})
}

func TestValidateLegacyVolumes(t *testing.T) {
	const path = `spec.volumes[0].`
	run(t, []specCase{
		{"git repo", volume("gitRepo: {directory: ../a}"), []string{
			path + `gitRepo.repository: Required value`, path + `gitRepo.directory: Invalid value: "../a": must not contain '..'`}},
		{"gce disk", volume("gcePersistentDisk: {partition: 256}"), []string{
			path + `persistentDisk.pdName: Required value`,
			path + `persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive`}},
		{"aws disk", volume("awsElasticBlockStore: {}"), []string{path + `awsElasticBlockStore.volumeID: Required value`}},
		{"iscsi", volume("iscsi: {targetPortal: t, iqn: x, lun: 256, chapAuthDiscovery: true, initiatorName: eui.1}"), []string{
			path + `iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa`,
			path + `iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive`,
			path + `iscsi.secretRef: Required value`,
			path + `iscsi.initiatorname: Invalid value: "eui.1": must be valid format`}},
		{"iscsi, right", volume("iscsi: {targetPortal: t, iqn: 'iqn.2001-04.com.example:disk'}"), nil},
		{"glusterfs", volume("glusterfs: {}"), []string{path + `glusterfs.endpoints: Required value`, path + `glusterfs.path: Required value`}},
		{"flocker", volume("flocker: {datasetName: a/b, datasetUUID: u}"), []string{
			path + `flocker: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously`,
			path + `flocker.datasetName: Invalid value: "a/b": must not contain '/'`}},
		{"rbd", volume("rbd: {monitors: [m]}"), []string{path + `rbd.image: Required value`}},
		{"cinder", volume("cinder: {volumeID: v, secretRef: {}}"), []string{path + `cinder.secretRef.name: Required value`}},
		{"cephfs", volume("cephfs: {}"), []string{path + `cephfs.monitors: Required value`}},
		{"quobyte", volume("quobyte: {registry: 'a:1,b', volume: v}"), []string{
			path + `quobyte.registry: Invalid value: "a:1,b": must be a host:port pair or multiple pairs separated by commas`}},
		{"fc", volume("fc: {targetWWNs: [a]}"), []string{path + `fc.lun: Required value: lun is required if targetWWNs is specified`}},
		{"flex", volume("flexVolume: {driver: d, options: {storage.k8s.io/a: b, c: d}}"), []string{
			path + `flexVolume.options[storage.k8s.io/a]: Invalid value: "storage.k8s.io/a": kubernetes.io and k8s.io namespaces are reserved`}},
		{"azure file", volume("azureFile: {shareName: s}"), []string{path + `azureFile.secretName: Required value`}},
		{"azure disk", volume("azureDisk: {diskName: d, diskURI: u, kind: Managed}"), []string{
			path + `azureDisk.diskURI: Unsupported value: "u": supported values: "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"`}},
		{"vsphere", volume("vsphereVolume: {}"), []string{path + `vsphereVolume.volumePath: Required value`}},
		{"photon", volume("photonPersistentDisk: {}"), []string{path + `photonPersistentDisk.pdID: Required value`}},
		{"portworx", volume("portworxVolume: {}"), []string{path + `portworxVolume.volumeID: Required value`}},
		{"storageos", volume("storageos: {volumeName: A}"), []string{path + `storageos.volumeName: Invalid value: "A": ` + labelRule}},
		{"scaleio", volume("scaleIO: {gateway: g, system: s}"), []string{path + `scaleIO.volumeName: Required value`}},
	})
}

func TestValidateMounts(t *testing.T) {
	const path = `spec.containers[0].volumeMounts`
	run(t, []specCase{
		{"right", mounted("volumeMounts: [{name: v, mountPath: /a, subPath: b}]"), nil},
		{"unknown", mounted("volumeMounts: [{name: x, mountPath: /a}, {}]"), []string{
			path + `[0].name: Not found: "x"`,
			path + `[1].name: Required value`, path + `[1].name: Not found: ""`, path + `[1].mountPath: Required value`}},
		{"same path", mounted("volumeMounts: [{name: v, mountPath: /a}, {name: w, mountPath: /a}]"), []string{
			path + `[1].mountPath: Invalid value: "/a": must be unique`}},
		{"sub path", mounted("volumeMounts: [{name: v, mountPath: /a, subPath: ../b, subPathExpr: /c}]"), []string{
			path + `.subPath: Invalid value: "../b": must not contain '..'`,
			path + `[0].subPathExpr: Invalid value: "/c": subPathExpr and subPath are mutually exclusive`,
			path + `.subPathExpr: Invalid value: "/c": must be a relative path`}},
		{"propagation", mounted("volumeMounts: [{name: v, mountPath: /a, mountPropagation: Bidirectional}, {name: w, mountPath: /b, mountPropagation: Up}]"), []string{
			path + `.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers`,
			path + `.mountPropagation: Unsupported value: "Up": supported values: "Bidirectional", "HostToContainer", "None"`}},
		{"recursively read only", mounted("volumeMounts: [{name: v, mountPath: /a, recursiveReadOnly: Enabled}, {name: w, mountPath: /b, recursiveReadOnly: Maybe}]"), []string{
			path + `.recursiveReadOnly: Forbidden: may only be specified when readOnly is true`,
			path + `.recursiveReadOnly: Unsupported value: "Maybe": supported values: "Disabled", "Enabled", "IfPossible"`}},
		{"devices", mounted("volumeMounts: [{name: pvc, mountPath: /a}], volumeDevices: [{name: pvc, devicePath: /a}, {name: v, devicePath: /dev/../x}, {name: x, devicePath: ''}]"), []string{
			path + `[0].name: Invalid value: "pvc": must not already exist in volumeDevices`,
			path + `[0].mountPath: Invalid value: "/a": must not already exist as a path in volumeDevices`,
			`spec.containers[0].volumeDevices[0].name: Invalid value: "pvc": must not already exist in volumeMounts`,
			`spec.containers[0].volumeDevices[0].devicePath: Invalid value: "/a": must not already exist as a path in volumeMounts`,
			`spec.containers[0].volumeDevices[1].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode`,
			`spec.containers[0].volumeDevices[1].devicePath: Invalid value: "/dev/../x": can not contain backsteps ('..')`,
			`spec.containers[0].volumeDevices[2].name: Not found: "x"`,
			`spec.containers[0].volumeDevices[2].devicePath: Required value`}},
	})
}
