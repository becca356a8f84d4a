// Package definition serves customresourcedefinitions, and their status, of the API group apiextensions.k8s.io/v1.
//
// It owns how a CustomResourceDefinition is decoded and defaulted ([Scheme], [Codecs]), stored
// ([StorageCodec]), validated, changed, deleted and shown. Here definitions are objects like any other; package
// crd serves what they describe. Types and validation are the library's.
//
// In come storage options. Out go the two storages, for installation and for use in this process:
//
//	crds, status, err := definition.NewREST(optionsGetter)
//	group := definition.NewAPIGroupInfo(crds, status)
//	err = server.InstallAPIGroup(&group) // the storages are the server's from now on
//
// crds is a rest.Getter, rest.Lister and rest.Watcher of the hub type, *apiextensions.CustomResourceDefinition;
// controllers write through status.Update. The package brings its own codec, so optionsGetter need not have one
// for the group.
//
// # Invariants
//
//  1. Between handler and codec, objects have the library's internal type. In etcd they are JSON in
//     apiextensions.k8s.io/v1beta1, byte for byte as a kube-apiserver writes them.
//  2. A definition is never removed while it has the finalizer customresourcecleanup.apiextensions.k8s.io. Any
//     first deletion adds that finalizer and the condition Terminating.
//  3. An update of spec or status leaves the other alone. The one exception is status.storedVersions: an update
//     of the spec adds the new storage version. Only the spec moves generation.
package definition
