// Package definition serves customresourcedefinitions, and their status, of the API group apiextensions.k8s.io/v1.
//
// It owns how a CustomResourceDefinition is decoded and defaulted ([Scheme], [Codecs]), stored ([StorageCodec]), validated,
// changed, deleted and shown. What the definitions describe is served elsewhere: here they are objects like any other.
// Validation and types are the library's.
//
// In come storage options. Out go the two storages, to be installed and to be used in process:
//
//	crds, status, err := definition.NewREST(optionsGetter)
//	group := definition.NewAPIGroupInfo(crds, status)
//	err = server.InstallAPIGroup(&group) // the storages are the server's from now on
//
// crds is a rest.Getter, rest.Lister and rest.Watcher of the hub type, *apiextensions.CustomResourceDefinition; controllers
// write through status.Update. The optionsGetter need not know a codec for the group: this package brings its own.
//
// # Invariants
//
//  1. Objects between handler and codec are of the library's internal type. On disk they are JSON in
//     apiextensions.k8s.io/v1beta1, byte for byte what a kube-apiserver writes.
//  2. A definition is never removed before the finalizer customresourcecleanup.apiextensions.k8s.io is off it. The first
//     deletion, one by one or of a collection, puts it on and says Terminating.
//  3. spec and status don't meet: an update of either leaves the other as it is, but for status.storedVersions, to which
//     an update of the spec adds the version that is stored from now on. generation moves with the spec alone.
package definition
